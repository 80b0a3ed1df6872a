import { execFile } from 'node:child_process';
import { realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { main } from '../../scripts/client.ts';
import { makeFolder } from '../rig/process.ts';
import { run as runCommand } from './command.ts';

const run = promisify(execFile);

/** The folder of a client project, which shares only the installed packages. */
export function makeProject(t: Test): string {
  const folder = makeFolder(t);
  symlinkSync(realpathSync('node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** What a program of this project prints, and its exit code. */
export async function resultOf(
  program: string,
  ...args: string[]
): Promise<{ code: number; output: string }> {
  const { API_KEY: _, ...env } = process.env;
  return run(process.execPath, [program, ...args], { env }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stdout, stderr }) => ({ code, output: stdout + stderr }),
  );
}

/** Writes a client into a folder. */
export async function writeClient(t: Test, ...args: string[]): Promise<void> {
  const { code, err } = await runCommand(main, args);
  t.equal(code, 0, err);
}

/** What the compiler says of the project in a folder; nothing, if it compiles. */
export const problemsOf = async (folder: string): Promise<string> =>
  (await resultOf('node_modules/typescript/bin/tsc', '--pretty', 'false', '-p', folder)).output;
