import { type Context, systemContext } from '#src/access/context.ts';
import { type Arguments, type Io, mainOf } from '#src/command.ts';
import { timeLeft } from '#src/core/progress.ts';
import { domain } from '#src/domain/index.ts';
import { countRecords } from '#src/records/resource.ts';
import { withDatabase } from './lib/database.ts';
import { readAmounts, seed } from './lib/seed.ts';

const usage = `npm run seed [-- <list>=<amount> …]: fills every list with generated records: with 10,000, or
with 200,000 where they belong to others. If lists are named, it fills only these, and those that they belong to. A second
run with the same amounts generates the same records, and adds nothing. Rules do not check them.

Example: npm run seed -- users=100`;

const options = {} as const;

async function fill({ positionals }: Arguments<typeof options>, io: Io) {
  const amounts = readAmounts(domain.records, positionals);
  await withDatabase(io.settings(), io, parts =>
    seedAndReport(io, systemContext(parts, 'seed', 'command'), amounts),
  );
}

async function seedAndReport(io: Io, context: Context, amounts: Record<string, number>): Promise<void> {
  const [before, started] = [await countRecords(context, domain.records), Date.now()];
  const total = Object.values(amounts).reduce((sum, amount) => sum + amount, 0);
  await seed(context.db, domain.records, amounts, done => {
    const place = `${done.toLocaleString('en')} of ${total.toLocaleString('en')} records`;
    io.progress(place + timeLeft(done / total, Date.now() - started), done / total);
  });
  const after = await countRecords(context, domain.records);
  for (const [name, count] of Object.entries(after))
    io.out(
      `${name}: ${count.toLocaleString('en')}, ${(count - (before[name] ?? 0)).toLocaleString('en')} of them new`,
    );
  io.out(`Done in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

export const main = await mainOf(import.meta, {
  usage,
  options,
  most: Number.POSITIVE_INFINITY,
  run: fill,
});
