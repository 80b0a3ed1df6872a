import { loadTogether } from './load.ts';
import { onStage } from './stage.ts';
import { type Workload, workloads } from './workloads.ts';

/** Measures the cost of authentication: W1 with a key, at the same time on an open service and on one that requires keys. */
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
    const secured = await another({ AUTH_MODE: 'required' });
    const ratios: number[] = [];
    // The first round is the warm-up.
    for (let round = 0; round <= effort.rounds; round++) {
      const [open = 0, required = 0] = await loadTogether(keyed, sample, [ours, secured], effort.seconds);
      if (round > 0) ratios.push(required / open);
    }
    ratios.sort((a, b) => a - b);
    const [least, middle, most] = [0, ratios.length >> 1, ratios.length - 1].map(i =>
      percent(ratios[i] ?? 0),
    );
    return `W1 with a key costs ${middle} of what it costs without (${least} to ${most}).`;
  });
}

const percent = (ratio: number) => `${(ratio * 100).toFixed(1)}%`;
