import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** MiB, as deploy/compose.yaml has it. */
export const memoryLimit = 512;

/** What starts a program that may take as much memory as a container: by a control group, or else by the heap alone. */
export function limitMemory(name: string) {
  const bytes = String(memoryLimit * 2 ** 20);
  for (const [parent, file] of [
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
    ['/sys/fs/cgroup', 'memory.max'],
  ] as const) {
    const group = join(parent, name);
    try {
      mkdirSync(group);
      writeFileSync(join(group, file), bytes);
    } catch {
      if (existsSync(group)) rmdirSync(group);
      continue;
    }
    const script = `echo $$ > ${join(group, 'cgroup.procs')} && exec "$@"`;
    return {
      run: (argv: string[]) => ({ command: 'sh', args: ['-c', script, 'sh', ...argv] }),
      env: {},
      remove: () => rmdirSync(group),
    };
  }
  return {
    run: ([command = '', ...args]: string[]) => ({ command, args }),
    env: { NODE_OPTIONS: '--max-old-space-size=384' },
    remove: () => {},
  };
}

/** Watches how much memory a process has held at most, in MiB, until it is stopped. */
export function watchMemory(pid: number) {
  const watching = new AbortController();
  const { signal } = watching;
  let most = 0;
  const look = () => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // It has ended.
    }
  };
  const watch = async () => {
    for (; !signal.aborted; await sleep(50)) look();
  };
  void watch();
  return () => {
    watching.abort();
    return most;
  };
}
