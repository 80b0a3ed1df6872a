import { type Context, systemContext } from '../src/access/context.ts';
import { type Arguments, type Io, mainOf } from '../src/command.ts';
import { domain } from '../src/domain/index.ts';
import { countRecords } from '../src/records/resource.ts';
import { withDatabase } from './lib/database.ts';
import { seed, sizeOf } from './lib/seed.ts';

const usage = `npm run seed -- --users 10000 --posts 200000: fills the database with generated users and posts. Each record
depends only on its number, so a second run generates the same ones and adds nothing.

  --users  1 to 1,000,000; 10,000 by default
  --posts  0 to 5,000,000; 200,000 by default

Example: npm run seed -- --users 100 --posts 2000`;

const options = {
  users: { type: 'string', default: '10000' },
  posts: { type: 'string', default: '200000' },
} as const;

async function fill({ values }: Arguments<typeof options>, io: Io) {
  const size = sizeOf(values);
  await withDatabase(io.settings(), parts =>
    seedAndReport(io, systemContext(parts, 'seed', 'command'), size),
  );
}

async function seedAndReport(io: Io, context: Context, size: ReturnType<typeof sizeOf>): Promise<void> {
  const [before, started] = [await countRecords(context, domain.records), Date.now()];
  const total = (size.users + size.posts).toLocaleString('en');
  await seed(context.db, size, done => io.progress(`${done.toLocaleString('en')} of ${total} records`));
  io.progress('');
  const after = await countRecords(context, domain.records);
  for (const [name, count] of Object.entries(after))
    io.out(
      `${name}: ${count.toLocaleString('en')}, ${(count - (before[name] ?? 0)).toLocaleString('en')} of them new`,
    );
  io.out(`Done in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

export const main = await mainOf(import.meta, { usage, options, run: fill });
