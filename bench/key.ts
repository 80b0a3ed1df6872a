import { loadTogether } from './load.ts';
import { onStage } from './stage.ts';
import { type Workload, workloads } from './workloads.ts';

/** What it costs to be asked for a key: W1 on the service that is open, and at the same time on one that asks; both are sent the key. */
export async function measureKey(
  size: { users: number; posts: number },
  effort: { rounds: number; seconds: number },
): Promise<string> {
  return onStage(size, async ({ sample, ours, another }) => {
    const answer = await fetch(`http://127.0.0.1:${ours.port}/api/keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'bench', scopes: ['read'] }),
    });
    const { key } = (await answer.json()) as { key: string };
    const [w1] = workloads as [Workload];
    const keyed: Workload = {
      ...w1,
      request: from => ({ ...w1.request(from), headers: { authorization: `Bearer ${key}` } }),
    };
    const asking = await another({ AUTH_MODE: 'required' });
    const ratios: number[] = [];
    // The first round is there to warm up.
    for (let round = 0; round <= effort.rounds; round++) {
      const [free = 0, asked = 0] = await loadTogether(keyed, sample, [ours, asking], effort.seconds);
      if (round > 0) ratios.push(asked / free);
    }
    ratios.sort((a, b) => a - b);
    const [least, middle, most] = [0, ratios.length >> 1, ratios.length - 1].map(i =>
      percent(ratios[i] ?? 0),
    );
    return `W1 with a key costs ${middle} of what it costs without (${least} to ${most}).`;
  });
}

const percent = (ratio: number) => `${(ratio * 100).toFixed(1)}%`;
