import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { makeFolder, runCommand } from './process.ts';

/** Examines a deployment with these settings; returns each finding as a line, and the exit code. */
export async function examine(
  t: Test,
  env: Record<string, string>,
  { args = [], folder = makeFolder(t) }: { args?: string[]; folder?: string } = {},
) {
  const { code, out, err } = await runCommand('scripts/doctor.ts', args, { PORT: '0', ...env }, folder);
  t.equal(err, '');
  const lines = out
    .trimEnd()
    .split('\n')
    .map(line => line.replace(/^(\w+) +/, '$1: '));
  // The last two are an empty one and the sum.
  return {
    code,
    found: lines.slice(0, -2),
    unwell: lines.slice(0, -2).filter(line => !line.startsWith('ok: ')),
  };
}

/** Expects one finding like this, and the exit code that belongs to it. */
export async function expectFinding(
  t: Test,
  env: Record<string, string>,
  finding: RegExp,
  options: Parameters<typeof examine>[2] = {},
): Promise<void> {
  const { code, found } = await examine(t, env, options);
  t.equal(found.filter(line => finding.test(line)).length, 1, `${finding} among\n${found.join('\n')}`);
  t.equal(code, found.some(line => line.startsWith('problem')) ? 1 : 0, 'the exit code');
}

/** What NODE_OPTIONS needs to run this before the program. */
export function preloaded(t: Test, code: string): { NODE_OPTIONS: string } {
  const file = join(makeFolder(t), 'hook.mjs');
  writeFileSync(file, code);
  return { NODE_OPTIONS: `--import=${file}` };
}

/** A clock that is so many seconds ahead. */
export const clockAhead = (t: Test, seconds: number) =>
  preloaded(t, `const { now } = Date; Date.now = () => now() + ${seconds * 1000};`);
