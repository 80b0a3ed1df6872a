import { cpu, type Figures, load } from './load.ts';
import type { Stage } from './stage.ts';
import type { Workload } from './workloads.ts';

/** The results of a workload. */
interface Measured {
  workload: Workload;
  floor: Figures;
  ours: Figures;
  /** The median of the ratios of all rounds: both loads of a round run under similar conditions. */
  ratio: number;
}

/** Loads the floor and the service in turn, several rounds. */
export async function compare(
  { sample, floor, ours }: Pick<Stage, 'sample' | 'floor' | 'ours'>,
  workloads: Workload[],
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Measured[]> {
  const measured = workloads.map(workload => ({ workload, rounds: [] as Omit<Measured, 'workload'>[] }));
  for (let round = 1; round <= rounds; round++)
    for (const { workload, rounds } of measured) {
      const bare = await load([workload], sample, floor, seconds);
      const full = await load([workload], sample, ours, seconds);
      const ratio = cpu(full) / cpu(bare);
      rounds.push({ floor: bare, ours: full, ratio });
      console.error(`round ${round} ${workload.name} ${ratio.toFixed(3)}`);
    }
  return measured.map(({ workload, rounds }) => {
    const floor = rounds.map(one => one.floor);
    const ours = rounds.map(one => one.ours);
    const ratios = rounds.map(one => one.ratio);
    return { workload, floor: median(floor, cpu), ours: median(ours, cpu), ratio: median(ratios, Number) };
  });
}

const median = <T>(list: T[], sizeOf: (one: T) => number) =>
  list.toSorted((a, b) => sizeOf(a) - sizeOf(b))[list.length >> 1] as T;

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
