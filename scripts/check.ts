import { spawnSync } from 'node:child_process';
import journal from '../drizzle/migrations/meta/_journal.json' with { type: 'json' };
import { mainOf } from '../src/command.ts';
import { OperatorError } from '../src/core/errors.ts';

const usage = `npm run check: checks types, lint, format, and that the generated files are up to date. It has no options.

Example: npm run check`;

const steps = ['tsc', 'tsc -p plugins/console', 'biome check', 'node scripts/generate.ts --check'];

/** Each migration is later than the one before it. Two branches that are merged may say otherwise. */
export function checkJournal(entries: { tag: string; when: number }[]): void {
  const early = entries.find(({ when }, i) => when <= (entries[i - 1]?.when ?? 0));
  if (early)
    throw new OperatorError(
      `In drizzle/migrations/meta/_journal.json, \`when\` of ${early.tag} must be later than that of the migration before it.`,
    );
}

/** Up to the first step that fails. */
async function check(): Promise<number> {
  checkJournal(journal.entries);
  for (const step of steps) {
    const { status } = spawnSync(step, { shell: true, stdio: 'inherit' });
    if (status !== 0) return status ?? 1;
  }
  return 0;
}

export const main = await mainOf(import.meta, { usage, run: check });
