import { cpu, load } from './load.ts';
import { onStage, type Stage } from './stage.ts';
import { pagesFrom, type Sample, type Workload, workloads } from './workloads.ts';

const sizes = [10_000, 200_000, 1_000_000, 10_000_000];

/**
 * Measures the first page, one in the middle and one of an author, with few posts and with many. Shared: all clients send
 * the same request, so that those at the same time share an answer. Not shared: each sends another one.
 */
export async function measureGrowth(users: number, seconds: number, print: (line: string) => void) {
  const columns = ['posts', 'request', 'floor, CPU ms', 'ours, shared', 'not shared', 'ours : floor'];
  print(`| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`);
  for (const posts of sizes)
    await onStage({ users, posts }, async stage => {
      for (const [name, shared, other] of requestsOf(posts)) {
        const costs = await costsOf(stage, [shared, other], posts, seconds);
        const ratios = costs.slice(1).map(cost => (cost / (costs[0] ?? 0)).toFixed(4));
        const cells = [
          posts.toLocaleString('en'),
          name,
          ...costs.map(cost => cost.toFixed(3)),
          ratios.join(', '),
        ];
        print(`| ${cells.join(' | ')} |`);
      }
    });
}

const named = (name: string) => workloads.find(workload => workload.name === name) as Workload;

/** The request that all clients share, and the one that each makes anew. */
function requestsOf(posts: number): [name: string, shared: Workload, other: Workload][] {
  const filter = named('W2filter');
  const ofOneAuthor = {
    ...filter,
    request: ({ users, ...rest }: Sample) => filter.request({ ...rest, users: users.slice(0, 1) }),
  };
  return [
    ['W2', named('W2'), pagesFrom(1)],
    ['W2deep', named('W2deep'), pagesFrom(posts / 40)],
    ['W2filter', ofOneAuthor, filter],
  ];
}

/** The CPU milliseconds of a request to the floor, which shares nothing, and of both requests to the service. */
async function costsOf(
  { sample, floor, ours }: Stage,
  [shared, other]: [Workload, Workload],
  posts: number,
  seconds: number,
) {
  const costs = [
    cpu(await load([shared], sample, ours, seconds)),
    cpu(await load([other], sample, ours, seconds)),
  ];
  // Last: a statement that the floor gave up on is still running, and its CPU would be ours. With more posts it never answers.
  const bare = posts > 1_000_000 ? Number.NaN : cpu(await load([other], sample, floor, seconds));
  return [bare, ...costs];
}
