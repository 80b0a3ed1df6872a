import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Arguments, mainOf, UsageError } from '#src/command.ts';
import { type BenchDatabase, idOf, openBenchDatabase } from './database.ts';
import { checkWrk, load, type Target } from './load.ts';
import { memoryOf, start, stopAll } from './processes.ts';
import { type Measured, ratioOf, reportOf } from './report.ts';
import { secret, type Workload, workloads } from './workloads.ts';

const usage = `npm run bench -- [--rounds 3] [--seconds 3] [--only <workload>,…] [--profile <folder>]

Loads the service and a bare floor in turn, beside one PostgreSQL, and prints what a request costs. Needs wrk and Linux.
--profile writes a CPU profile of the service. bench/README.md explains the figures.
Workloads: ${workloads.map(({ name }) => name).join(', ')}

Example: npm run bench -- --rounds 1 --only W1,W6`;

const options = {
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '3' },
  only: { type: 'string' },
  profile: { type: 'string' },
} as const;

async function main({ values }: Arguments<typeof options>): Promise<void> {
  const only = values.only?.split(',');
  const chosen = workloads.filter(({ name }) => only?.includes(name) ?? true);
  if (chosen.length === 0) throw new UsageError(`There is no workload ${values.only}`);
  checkWrk();
  const database = await openBenchDatabase();
  try {
    const service = await startService(database, values.profile);
    // The pause gives Node time to collect the garbage of the start.
    await sleep(2000);
    const memory = [memoryOf(service.pid)];
    const floor = await startFloor(database);
    const measured = chosen.map((workload): Measured => ({ workload, rounds: [] }));
    for (let round = 1; round <= Number(values.rounds); round++)
      for (const { workload, rounds } of measured) {
        rounds.push(await compare(workload, { floor, service }, Number(values.seconds)));
        if (memory.length === 1) memory.push(memoryOf(service.pid));
      }
    console.log(reportOf(measured, [...memory, memoryOf(service.pid)], service.ready));
  } finally {
    await stopAll();
    await database.close();
  }
}

/** Starts the service as `npm start` does, with the same flags for Node, but with the resources of test/world. */
async function startService(database: BenchDatabase, profile: string | undefined) {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  const options = [
    `--import=${resolve('test/world/register.ts')}`,
    ...(profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : []),
  ];
  const settings = {
    NODE_ENV: 'production',
    AUTH_MODE: 'open',
    LOG_LEVEL: 'warn',
    RATE_LIMIT_MAX: '1000000000',
    WEBHOOK_SECRETS: JSON.stringify({ stripe: [secret] }),
    DATABASE_URL: database.url,
    NODE_OPTIONS: options.join(' '),
  };
  const started = await start(scripts.start, 4101, settings);
  return { name: 'service', database, idOf, ...started };
}

async function startFloor(database: BenchDatabase) {
  const command = 'exec node --disable-warning=ExperimentalWarning bench/floor.ts';
  const started = await start(command, 4100, { DATABASE_URL: database.url, BENCH_SECRET: secret });
  return { name: 'floor', database, idOf: String, ...started };
}

/** Both loads of a round run one after the other, under similar conditions. */
async function compare(workload: Workload, targets: { floor: Target; service: Target }, seconds: number) {
  const floor = await load(workload, targets.floor, seconds);
  const service = await load(workload, targets.service, seconds);
  console.error(`${workload.name} ${ratioOf({ floor, service }).toFixed(3)}`);
  return { floor, service };
}

await mainOf(import.meta, { usage, options, run: main });
