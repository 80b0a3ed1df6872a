import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** MiB, as in deploy/compose.yaml. */
export const memoryLimit = 512;

/** Limits the memory of a program to that of a container: by a control group, or else by its heap alone. */
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

/** Watches a process; the returned function stops that and returns the most memory that it has held, in MiB. */
export function watchMemory(pid: number) {
  const watching = new AbortController();
  const { signal } = watching;
  let most = 0;
  const look = () => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // The process has ended.
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
