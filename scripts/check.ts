import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mainOf } from '#src/command.ts';
import { checkJournal, checkTables } from './lib/journal.ts';

const usage = `npm run check: checks types, lint, format, and that migrations and generated files are up to date. It
has no options.

Example: npm run check`;

/** One checker needs half the CPU of the usual four, and two thirds of the memory; on two cores it is as quick. */
const steps = ['tsc --checkers 1', 'tsc -p plugins', 'biome check', 'node scripts/generate.ts --check'];

/** Runs the steps until one fails. */
async function check(): Promise<number> {
  checkJournal(JSON.parse(readFileSync('drizzle/migrations/meta/_journal.json', 'utf8')));
  for (const step of steps) {
    const { status } = spawnSync(step, { shell: true, stdio: 'inherit' });
    if (status !== 0) return status ?? 1;
  }
  await checkTables();
  return 0;
}

export const main = await mainOf(import.meta, { usage, run: check });
