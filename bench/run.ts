import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { drawChart } from './chart.ts';
import { openBenchDatabase } from './database.ts';
import { cpu, type Figures, load } from './load.ts';
import { start, stop } from './processes.ts';
import { workloads } from './workloads.ts';

/**
 * `npm run bench [-- --rounds 3 --seconds 5 --posts 200000 --only W1,W2]`: the service and the bare floor in turn on one Postgres.
 * The ratio of CPU for each request, server and Postgres together, is the figure that other machines repeat.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    users: { type: 'string', default: '10000' },
    posts: { type: 'string', default: '200000' },
    only: { type: 'string' },
    chart: { type: 'string' },
  },
});
const secret = 'whsec_bench';
const ports = { floor: 4100, ours: 4101 };
const chosen = workloads.filter(({ name }) => !values.only || values.only.split(',').includes(name));

const database = await openBenchDatabase(Number(values.users), Number(values.posts));
const env = {
  DATABASE_URL: database.url,
  BENCH_SECRET: secret,
  NODE_ENV: 'production',
  AUTH_MODE: 'open',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_MAX: '1000000000',
  WEBHOOK_SECRETS: JSON.stringify({ stripe: [secret] }),
};
const measured = new Map<string, { floor: Figures[]; ours: Figures[] }>();
try {
  const floor = await start('bench/floor.ts', ports.floor, { ...env, DATABASE_URL: database.floorUrl });
  const ours = await start('src/main.ts', ports.ours, env);
  const sample = { ...(await database.sample()), secret };
  for (let round = 1; round <= Number(values.rounds); round++)
    for (const workload of chosen) {
      const figures = measured.get(workload.name) ?? { floor: [], ours: [] };
      measured.set(workload.name, figures);
      for (const [name, child] of [
        ['floor', floor],
        ['ours', ours],
      ] as const) {
        const target = { port: ports[name], pid: child.pid ?? 0, postgres: database.pid };
        figures[name].push(await load(workload, sample, target, Number(values.seconds)));
        await database.settle();
      }
      console.error(
        `round ${round} ${workload.name} ${(median(figures.ours.map(cpu)) / median(figures.floor.map(cpu))).toFixed(2)}`,
      );
    }
  await stop(ours);
  await stop(floor);
} finally {
  await database.close();
}

const rows = chosen.map(({ name, title }) => {
  const { floor = [], ours = [] } = measured.get(name) ?? {};
  const middle = (list: Figures[], figure: (figures: Figures) => number) => median(list.map(figure));
  return {
    name,
    title,
    ratio: middle(ours, cpu) / middle(floor, cpu),
    text: [
      ...[floor, ours].map(list =>
        Math.round(middle(list, figures => figures.perSecond)).toLocaleString('en'),
      ),
      ...[floor, ours].map(
        list => `${middle(list, figures => figures.p50)} / ${middle(list, figures => figures.p99)}`,
      ),
      ...[floor, ours].map(
        list =>
          `${middle(list, figures => figures.server).toFixed(3)} + ${middle(list, figures => figures.postgres).toFixed(3)}`,
      ),
    ],
  };
});
console.log(
  '| work | requests/s floor | ours | ms p50 / p99 floor | ours | CPU ms, server + Postgres, floor | ours | ours × floor |',
);
console.log('|---|---|---|---|---|---|---|---|');
for (const { name, title, text, ratio } of rows)
  console.log(`| ${name} ${title} | ${text.join(' | ')} | **${ratio.toFixed(2)}** |`);
if (values.chart) writeFileSync(values.chart, drawChart(rows));

function median(list: number[]): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
}
