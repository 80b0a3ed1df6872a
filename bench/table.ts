import { cpu, type Figures, load } from './load.ts';
import type { Stage } from './stage.ts';
import type { Workload } from './workloads.ts';

/** What the rounds of a workload have measured. */
interface Measured {
  workload: Workload;
  floor: Figures;
  ours: Figures;
  ratio: number;
}

/** Loads the floor and the service in turn, round after round, so that both have the same weather. */
export async function compare(
  { sample, floor, ours }: Pick<Stage, 'sample' | 'floor' | 'ours'>,
  workloads: Workload[],
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Measured[]> {
  const measured = workloads.map(workload => ({ workload, floor: [] as Figures[], ours: [] as Figures[] }));
  for (let round = 1; round <= rounds; round++)
    for (const { workload, ...figures } of measured) {
      for (const [list, target] of [
        [figures.floor, floor],
        [figures.ours, ours],
      ] as const)
        list.push(await load([workload], sample, target, seconds));
      const [bare, full] = [figures.floor, figures.ours].map(list => cpu(middle(list)));
      console.error(`round ${round} ${workload.name} ${((full ?? 0) / (bare ?? 1)).toFixed(2)}`);
    }
  return measured.map(({ workload, ...figures }) => {
    const [bare, full] = [middle(figures.floor), middle(figures.ours)];
    return { workload, floor: bare, ours: full, ratio: cpu(full) / cpu(bare) };
  });
}

/** The round whose cost is in the middle. */
const middle = (list: Figures[]) => list.toSorted((a, b) => cpu(a) - cpu(b))[list.length >> 1] as Figures;

const columns = [
  'work',
  'requests/s: floor',
  'ours',
  'ms, p50 / p99: floor',
  'ours',
  'CPU ms, server + Postgres: floor',
  'ours',
  'ours : floor',
];

/** The figures as a table in Markdown. */
export function tableOf(rows: Measured[]): string {
  const lines = rows.map(({ workload: { name, title }, floor, ours, ratio }) => [
    `${name} ${title}`,
    ...[floor, ours].map(({ perSecond }) => Math.round(perSecond).toLocaleString('en')),
    ...[floor, ours].map(({ p50, p99 }) => `${p50} / ${p99}`),
    ...[floor, ours].map(({ server, postgres }) => `${server.toFixed(3)} + ${postgres.toFixed(3)}`),
    `**${ratio.toFixed(2)}**`,
  ]);
  return [columns, columns.map(() => '---'), ...lines].map(cells => `| ${cells.join(' | ')} |`).join('\n');
}
