import { spawnSync } from 'node:child_process';
import type { Environment } from '#src/config/settings.ts';
import { OperatorError } from '#src/core/errors.ts';

/**
 * Runs a PostgreSQL client program. The password is passed in the environment, because any user can see a command
 * line.
 */
export function runPgTool(
  program: 'pg_dump' | 'pg_restore',
  args: string[],
  url: string,
  env: Environment,
): void {
  const bare = new URL(url);
  const PGPASSWORD = decodeURIComponent(bare.password);
  bare.password = '';
  const { status, error } = spawnSync(program, [...args, `--dbname=${bare.href}`], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...env, ...(PGPASSWORD && { PGPASSWORD }) },
  });
  if (error && 'code' in error && error.code === 'ENOENT')
    throw new OperatorError(
      `${program} is not on the PATH. Install the PostgreSQL client programs of the server's major version or a later one.`,
    );
  if (error) throw error;
  if (status !== 0)
    throw new OperatorError(
      `${program} exited with ${status}. It needs the rights of the role that migrates.`,
    );
}
