import { spawnSync } from 'node:child_process';
import { OperatorError } from '../../src/core/operatorErrors.ts';

/** Runs a client program of PostgreSQL on a database. The password travels in the environment: a command line is public. */
export function runPgTool(program: 'pg_dump' | 'pg_restore', args: string[], url: string): void {
  const bare = new URL(url);
  const PGPASSWORD = decodeURIComponent(bare.password);
  bare.password = '';
  const { status, error } = spawnSync(program, [...args, `--dbname=${bare.href}`], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...(PGPASSWORD && { PGPASSWORD }) },
  });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
    throw new OperatorError(
      `${program} is not on the PATH. Install the client programs of PostgreSQL, of the server's major version or a later one.`,
    );
  if (error) throw error;
  if (status !== 0) throw new OperatorError(`${program} ended with ${status}.`);
}
