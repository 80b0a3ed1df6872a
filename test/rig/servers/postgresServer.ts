import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import postgres from 'postgres';
import type { Test } from 'tap';
import { makeServer } from '../cluster/postgres.ts';
import { makeFolder } from '../process.ts';
import { freePort } from './ports.ts';

/** Creates a PostgreSQL server that a test can crash or freeze. It is not started yet. */
export async function makePostgres(t: Test, fsync: 'on' | 'off' = 'off') {
  const port = await freePort();
  // Acknowledged writes must survive a crash of the server, which needs no fsync; a power failure would.
  const server = makeServer(join(makeFolder(t), 'postgres'), port, [
    `fsync=${fsync}`,
    'max_prepared_transactions=10',
  ]);
  await server.initialise();
  const url = `postgres://triport:triport@127.0.0.1:${port}/postgres`;
  const internals = server as unknown as { process: ChildProcess | undefined };
  const signalAll = (signal: 'SIGSTOP' | 'SIGCONT') => {
    const pid = internals.process?.pid ?? 0;
    const children = execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map(Number);
    // The parent stops first and continues last, so that it starts no process in between.
    for (const one of signal === 'SIGSTOP' ? [pid, ...children] : [...children, pid])
      try {
        process.kill(one, signal);
      } catch {
        // The process has exited meanwhile.
      }
  };
  t.teardown(async () => {
    if (internals.process) signalAll('SIGCONT');
    await server.stop();
  });
  return {
    url,
    start: () => server.start(),
    /** Immediate shutdown: connections are dropped as in a crash. */
    crash: async () => {
      const gone = once(internals.process as ChildProcess, 'exit');
      internals.process?.kill('SIGQUIT');
      await gone;
      // Otherwise stop() would wait for a process that has exited already.
      internals.process = undefined;
    },
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    query: (text: string) => queryPostgres(url, text),
  };
}

export async function queryPostgres(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end();
  }
}
