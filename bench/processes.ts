import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Starts a server and waits until it answers. */
export async function start(
  command: string[],
  port: number,
  env: Record<string, string>,
): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...command], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, HOST: '127.0.0.1', PORT: String(port), ...env },
  });
  for (let tries = 0; tries < 100; tries++) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
    const reply = await fetch(`http://127.0.0.1:${port}/api/posts?limit=1`).catch(() => undefined);
    await reply?.arrayBuffer();
    // A 401 counts as an answer, too.
    if (reply && reply.status < 500) return child;
    await sleep(200);
  }
  throw new Error(`${command} does not answer`);
}

export async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  if (child.exitCode === null) await once(child, 'exit');
}

const ticksPerSecond = 100;

/** The CPU milliseconds used by a process and its descendants, including those that have exited. */
export function cpuOf(root: number): number {
  const processes = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => statOf(Number(name)) ?? []);
  const tree = [root];
  for (const parent of tree)
    tree.push(...processes.filter(({ parentPid }) => parentPid === parent).map(({ pid }) => pid));
  const ticks = processes
    .filter(({ pid }) => tree.includes(pid))
    .reduce((sum, { own, ended }) => sum + own + ended, 0);
  return (ticks * 1000) / ticksPerSecond;
}

function statOf(pid: number) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number);
    const [, parentPid = 0] = fields;
    return {
      pid,
      parentPid,
      own: (fields[11] ?? 0) + (fields[12] ?? 0),
      ended: (fields[13] ?? 0) + (fields[14] ?? 0),
    };
  } catch {
    return undefined;
  }
}

/** The resident memory of a process in MiB. */
export const memoryOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
