import { serviceName } from '#schemas/name.ts';
import { type Io, mainOf } from '#src/command.ts';
import { repairCounts } from '#src/database/totals.ts';
import { withDatabase } from './lib/database.ts';

const usage = `npm run repair: recounts every list. Needed only after writes with disabled triggers. It has no options; the settings name
the database.

Example: DATABASE_URL=postgres://user:password@host:5432/${serviceName} npm run repair`;

async function repair(_: unknown, io: Io) {
  await withDatabase(io.settings(), io, ({ db }) => repairCounts(db, io.out, io.progress));
}

export const main = await mainOf(import.meta, { usage, run: repair });
