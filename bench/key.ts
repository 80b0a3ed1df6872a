import { onStage } from './stage.ts';
import { compare } from './table.ts';
import { workloads } from './workloads.ts';

/** What it costs to be asked for a key: W1 on the service that is open, and in turn on one that asks; both are sent the key. */
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
    const keyed = workloads
      .filter(({ name }) => name === 'W1')
      .map(work => ({
        ...work,
        request: (from: typeof sample) => ({
          ...work.request(from),
          headers: { authorization: `Bearer ${key}` },
        }),
      }));
    const asking = await another({ AUTH_MODE: 'required' });
    const [measured] = await compare({ sample, floor: ours, ours: asking }, keyed, effort);
    return `W1 with a key costs ${((measured?.ratio ?? 0) * 100).toFixed(1)}% of what it costs without.`;
  });
}
