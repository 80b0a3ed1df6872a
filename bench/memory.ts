import { load } from './load.ts';
import { memoryOf } from './processes.ts';
import { onStage } from './stage.ts';
import { workloads } from './workloads.ts';

const bursts = 6;

/** Bursts of all workloads mixed: neither the memory of the service nor the CPU of a request may grow from one to the next. */
export async function measureMemory(
  size: { users: number; posts: number },
  seconds: number,
): Promise<string> {
  const lines = ['| burst | requests | server, CPU ms each | memory, MiB |', '|---|---|---|---|'];
  await onStage(size, async ({ sample, ours }) => {
    for (let burst = 1; burst <= bursts; burst++) {
      const { perSecond, server } = await load(workloads, sample, ours, seconds);
      const requests = Math.round(perSecond * seconds).toLocaleString('en');
      lines.push(`| ${burst} | ${requests} | ${server.toFixed(3)} | ${memoryOf(ours.pid).toFixed(0)} |`);
    }
  });
  return lines.join('\n');
}
