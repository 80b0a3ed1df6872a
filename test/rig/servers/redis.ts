import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import { freePort } from './ports.ts';

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  // A frozen process handles SIGTERM only after SIGCONT.
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  await once(child, 'exit');
}

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Commands that make Redis refuse every write, and those that undo it. */
export const refusals = {
  'has become a replica': { begin: 'replicaof 127.0.0.1 1', end: 'replicaof no one' },
  'is full': { begin: 'config set maxmemory 1', end: 'config set maxmemory 0' },
};

/** Starts a Redis without persistence that a test can kill, restart and freeze. */
export async function startRedis(t: Test) {
  const port = await freePort();
  let child: ChildProcess | undefined;
  async function start() {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const ready = Promise.withResolvers<void>();
    child.stdout?.on('data', text => String(text).includes('Ready to accept') && ready.resolve());
    await ready.promise;
  }
  await start();
  t.teardown(() => child && stop(child));
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    command: async (line: string) => {
      const [name = '', ...words] = line.split(' ');
      const client = new Redis(port);
      await client.call(name, ...words);
      client.disconnect();
    },
    kill: async () => {
      child?.kill('SIGKILL');
      if (child) await once(child, 'exit');
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
  };
}
