import { load } from './load.ts';
import { memoryOf } from './processes.ts';
import { onStage } from './stage.ts';
import { workloads } from './workloads.ts';

const bursts = 6;

/** Sends bursts of all workloads mixed: neither memory nor CPU per request may grow from one burst to the next. */
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
