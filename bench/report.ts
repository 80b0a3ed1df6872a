import { cpu, type Figures } from './load.ts';
import type { Workload } from './workloads.ts';

interface Round {
  floor: Figures;
  service: Figures;
}
export interface Measured {
  workload: Workload;
  rounds: Round[];
}

export const ratioOf = ({ floor, service }: Round) => cpu(service) / cpu(floor);

const textOf = (ratio: number) => ratio.toFixed(ratio < 0.1 ? 3 : 2);
const row = (cells: unknown[]) => `| ${cells.join(' | ')} |`;

/** What bench/README.md shows: the table, and figures of the process. */
export function reportOf(measured: Measured[], memory: number[], ready: number): string {
  // The round with the median ratio stands for all.
  const middle = measured.map(({ workload, rounds }) => {
    const sorted = rounds.toSorted((a, b) => ratioOf(a) - ratioOf(b));
    return { workload, ...(sorted[sorted.length >> 1] as Round) };
  });
  const megabytes = memory.map(Math.round);
  const first = middle[0]?.workload.name;
  const bytes = Math.round(middle[0]?.service.bytes ?? 0);
  return `| Work | Floor, CPU ms | Service + PostgreSQL | Ratio | Target | p50 / p99, ms |
|---|---|---|---|---|---|
${middle.map(lineOf).join('\n')}

Ready after ${ready.toFixed(1)} s. Memory idle, after ${first} and after all: ${megabytes.join(', ')} MB.
An answer of ${first} has ${bytes} bytes.`;
}

function lineOf({ workload: { name, title, target }, ...round }: { workload: Workload } & Round): string {
  const { server, postgres, p50, p99 } = round.service;
  const ratio = ratioOf(round);
  return row([
    `${name} ${title}`,
    cpu(round.floor).toFixed(3),
    `${server.toFixed(3)} + ${postgres.toFixed(3)}`,
    textOf(ratio),
    ratio > target ? `${target}, **missed**` : target,
    `${p50.toFixed(1)} / ${p99.toFixed(1)}`,
  ]);
}
