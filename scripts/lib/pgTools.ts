import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Io } from '#src/command.ts';
import { OperatorError } from '#src/core/errors.ts';

/**
 * Runs a PostgreSQL client program, with this input if there is one. The password is passed in the environment, because
 * any user can see a command line.
 */
export async function runPgTool(
  program: 'pg_dump' | 'pg_restore',
  args: string[],
  url: string,
  { env, err }: Pick<Io, 'env' | 'err'>,
  input?: Readable,
): Promise<void> {
  const bare = new URL(url);
  const PGPASSWORD = decodeURIComponent(bare.password);
  bare.password = '';
  const child = spawn(program, [...args, `--dbname=${bare.href}`], {
    stdio: ['pipe', 'inherit', 'pipe'],
    env: { ...env, ...(PGPASSWORD && { PGPASSWORD }) },
  });
  createInterface({ input: child.stderr }).on('line', err);
  // A program that fails leaves the rest of its input; its exit code says so.
  const fed = input && pipeline(input, child.stdin).catch(error => error);
  if (!input) child.stdin.end();
  const [status] = await once(child, 'close').catch(error => {
    if (error.code !== 'ENOENT') throw error;
    throw new OperatorError(
      `${program} is not on the PATH. Install the PostgreSQL client programs of the server's major version or a later one.`,
    );
  });
  const failure = await fed;
  if (['open', 'read'].includes(failure?.syscall)) throw failure;
  if (status !== 0)
    throw new OperatorError(
      `${program} exited with ${status}. It needs the rights of the role that migrates.`,
    );
}
