import { cpu, load } from './load.ts';
import { onStage } from './stage.ts';
import { pagesFrom } from './workloads.ts';

const sizes = [10_000, 200_000, 1_000_000];

/** Measures the first, middle and last pages with few posts and with many, and prints each row at once. */
export async function measureGrowth(users: number, seconds: number, print: (line: string) => void) {
  print('| posts | first pages, CPU ms | in the middle | last pages |\n|---|---|---|---|');
  for (const posts of sizes) {
    const costs = await onStage({ users, posts }, async ({ sample, ours }) => {
      const perPage: number[] = [];
      for (const page of [1, posts / 40, posts / 20 - 99])
        perPage.push(cpu(await load([pagesFrom(page)], sample, ours, seconds)));
      return perPage;
    });
    print(`| ${[posts.toLocaleString('en'), ...costs.map(cost => cost.toFixed(3))].join(' | ')} |`);
  }
}
