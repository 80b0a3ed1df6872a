import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

export interface Service {
  url: string;
  /** Ends the process, by default without any warning, and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<number | null>;
  output: () => string;
}

/** A folder that is gone when the test ends. */
export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'triport-e2e-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => probe.once('listening', resolve));
  const address = probe.address();
  await new Promise(resolve => probe.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/** A process of the service, started as an operator would, and killed when the test ends. */
export async function startService(
  t: Test,
  env: Record<string, string>,
  {
    script = 'src/main.ts',
    port,
    ready = script === 'src/main.ts',
  }: { script?: string; port?: number; ready?: boolean } = {},
): Promise<Service> {
  const used = port ?? (await freePort());
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
    env: { PATH: process.env.PATH, RATE_LIMIT_MAX: '1000000', PORT: String(used), LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      output += chunk;
    });
  const gone = new Promise<number | null>(resolve => child.once('exit', resolve));
  const kill = (signal: NodeJS.Signals = 'SIGKILL') => {
    child.kill(signal);
    return gone;
  };
  t.teardown(() => kill());
  const url = `http://127.0.0.1:${used}`;
  if (ready) await untilReady(child, url, () => output);
  return { url, kill, output: () => output };
}

async function untilReady(child: ChildProcess, url: string, output: () => string): Promise<void> {
  for (let tries = 0; tries < 600 && child.exitCode === null; tries++) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(50);
  }
  throw new Error(`The service does not become ready:\n${output()}`);
}

/** Asks until the answer is as expected. */
export async function until<T>(
  ask: () => Promise<T>,
  fits: (answer: T) => boolean,
  seconds = 60,
): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (Date.now() > end)
      throw new Error(`Not in ${seconds} s, but: ${JSON.stringify(answer).slice(0, 500)}`);
    await sleep(100);
  }
}
