import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '#src/core/errors.ts';

const children: ChildProcess[] = [];

/** Starts a server with a shell command, and waits until it is ready. */
export async function start(command: string, port: number, settings: Record<string, string>) {
  const origin = `http://127.0.0.1:${port}`;
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  const env = { ...process.env, PATH, HOST: '127.0.0.1', PORT: String(port), ...settings };
  const began = performance.now();
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'inherit', 'inherit'], env });
  children.push(child);
  while (!(await isReady(origin))) {
    if (child.exitCode !== null) throw new OperatorError(`${command} ended with ${child.exitCode}`);
    if (performance.now() > began + 30_000) throw new OperatorError(`${command} is not ready after 30 s`);
    await sleep(20);
  }
  return { origin, pid: child.pid ?? 0, ready: (performance.now() - began) / 1000 };
}

/** Whether a server answers. The floor lacks this path, so its 404 counts as well. */
async function isReady(origin: string): Promise<boolean> {
  const answer = await fetch(`${origin}/health/ready`).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer !== undefined && answer.status < 500;
}

/** Stops what was started. */
export async function stopAll(): Promise<void> {
  for (const child of children) {
    // `kill` returns false when the child has ended already.
    if (child.kill('SIGTERM')) await once(child, 'exit');
  }
}

/** The CPU milliseconds used by a process and its children, including those that have exited. */
export function cpuOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? [];
  const ticks = [pid, ...children].map(ticksOf).reduce((sum, each) => sum + each, 0);
  // Linux counts a hundred ticks a second.
  return ticks * 10;
}

function ticksOf(pid: number | string): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number);
    // Ticks in user mode and in the kernel, of the process and of its children that have exited.
    return fields.slice(11, 15).reduce((sum, each) => sum + each);
  } catch {
    // The process has just exited, and is counted with its parent.
    return 0;
  }
}

/** The resident memory of a process in MB. */
export const memoryOf = (pid: number) =>
  (Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / 1e6;
