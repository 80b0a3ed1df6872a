import type { ChildProcess } from 'node:child_process';
import { openBenchDatabase } from './database.ts';
import type { Target } from './load.ts';
import { start, stop } from './processes.ts';
import type { Sample } from './workloads.ts';

const secret = 'whsec_bench';
const env = {
  BENCH_SECRET: secret,
  NODE_ENV: 'production',
  AUTH_MODE: 'open',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_MAX: '1000000000',
  WEBHOOK_SECRETS: JSON.stringify({ stripe: [secret] }),
};

type Database = Awaited<ReturnType<typeof openBenchDatabase>>;

export interface Stage {
  sample: Sample;
  floor: Target;
  ours: Target;
  statementsOf: Database['statementsOf'];
  /** Starts another service on the same Postgres with other settings. */
  another: (settings: Record<string, string>) => Promise<Target>;
}

/** Starts a seeded Postgres, the floor and the service, runs work on them, and stops everything. */
export async function onStage<T>(
  { users, posts, profile }: { users: number; posts: number; profile?: string | undefined },
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const database = await openBenchDatabase(users, posts);
  const children: ChildProcess[] = [];
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const open = async (command: string[], port: number, url: string, settings = {}): Promise<Target> => {
    const child = await start(command, port, { ...env, DATABASE_URL: url, ...settings });
    children.push(child);
    return {
      port,
      pid: child.pid ?? 0,
      postgres: database.pid,
      settled: database.jobsDone,
      tidy: database.tidy,
    };
  };
  try {
    return await work({
      sample: { ...(await database.sample()), secret },
      floor: await open(['bench/floor.ts'], 4100, database.floorUrl),
      ours: await open([...profiling, 'src/main.ts'], 4101, database.url),
      statementsOf: database.statementsOf,
      another: settings => open(['src/main.ts'], 4102, database.url, settings),
    });
  } finally {
    await Promise.all(children.map(stop));
    await database.close();
  }
}
