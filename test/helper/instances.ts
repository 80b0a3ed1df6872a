import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  return typeof address === 'object' && address ? address.port : 0;
}

/** The service as its own process, ended with the test. Its log lines are kept. */
export async function startInstance(t: Test, env: Record<string, string>) {
  const port = await freePort();
  const lines: string[] = [];
  const child = spawn(process.execPath, ['src/main.ts'], {
    env: { ...process.env, LOG_FORMAT: 'json', PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.setEncoding('utf8').on('data', text => lines.push(...String(text).trim().split('\n')));
  t.teardown(() => stop(child));
  const url = `http://127.0.0.1:${port}`;
  for (let ready = false; !ready; await sleep(50)) {
    if (child.exitCode !== null) throw new Error(`The instance ended: ${lines.join('\n')}`);
    ready = await fetch(`${url}/health/ready`).then(
      reply => reply.ok,
      () => false,
    );
  }
  return { url, said: (text: string) => lines.filter(line => line.includes(text)).length };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  // One that is frozen would never see it otherwise.
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  await once(child, 'exit');
}

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** A Redis that can be killed, started again and frozen. It keeps nothing on disk. */
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
    kill: async () => {
      child?.kill('SIGKILL');
      if (child) await once(child, 'exit');
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
  };
}
