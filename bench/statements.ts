import { send } from './load.ts';
import { onStage } from './stage.ts';
import type { Workload } from './workloads.ts';

/** Lists the statements of a workload by their time in Postgres, for the floor and for the service including its jobs. */
export async function measureStatements(
  size: { users: number; posts: number },
  workload: Workload,
  seconds: number,
): Promise<string> {
  return onStage(size, async ({ sample, floor, ours, statementsOf }) => {
    const lines: string[] = [];
    for (const [name, target] of Object.entries({ floor, ours })) {
      await send([workload], sample, target, 2);
      await target.settled();
      await target.tidy();
      let requests = 0;
      const statements = await statementsOf(async () => {
        requests = (await send([workload], sample, target, seconds))['2xx'];
        await target.settled();
      });
      lines.push('', `| us a request, ${name} | rows a call | statement |`, '|---|---|---|');
      for (const { text, calls, rows, microseconds } of statements) {
        const share = microseconds / requests;
        if (share >= 0.5)
          lines.push(`| ${share.toFixed(1)} | ${(rows / calls).toFixed(1)} | ${text.slice(0, 100)} |`);
      }
    }
    return lines.join('\n');
  });
}
