import { serviceName } from '#schemas/name.ts';
import { type Arguments, type Io, mainOf } from '#src/command.ts';
import { spread } from '#src/database/migrations/migrations.ts';
import { withDatabase } from './lib/database.ts';

const usage = `npm run migrate -- [--spread]

Brings the database of the settings up to date and exits. It waits for a server that is away. With --spread it also spreads
the tables that grow without end over the nodes of Citus, see docs/scaling.md.

Example: DATABASE_URL=postgres://user:password@host:5432/${serviceName} npm run migrate`;

const options = { spread: { type: 'boolean' } } as const;

async function migrate({ values }: Arguments<typeof options>, io: Io) {
  await withDatabase(io.settings(), io, async ({ db }) => {
    io.out('The database is up to date.');
    if (values.spread)
      io.out((await spread(db)) ? 'The tables are spread.' : 'The tables were spread before.');
  });
}

export const main = await mainOf(import.meta, { usage, options, run: migrate });
