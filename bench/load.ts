import { equal } from 'node:assert';
import autocannon from 'autocannon';
import { cpuOf } from './processes.ts';
import type { Sample, Workload } from './workloads.ts';

export interface Figures {
  perSecond: number;
  p50: number;
  p99: number;
  /** CPU milliseconds per request. */
  server: number;
  postgres: number;
}

export const cpu = ({ server, postgres }: Figures) => server + postgres;

/** What gets the load: a server and the Postgres behind it. */
export interface Target {
  port: number;
  pid: number;
  postgres: number;
  /** Waits until all jobs of the requests are done. */
  settled: () => Promise<void>;
  /** Runs the maintenance of Postgres that would otherwise disturb the next load. */
  tidy: () => Promise<void>;
}

/** Seconds for compiling the code and filling the caches. */
const warmUp = 2;

/** Sends workloads in turn for some seconds and returns the cost of a request, including its jobs. A wrong answer ends the run. */
export async function load(
  workloads: Workload[],
  sample: Sample,
  target: Target,
  seconds: number,
): Promise<Figures> {
  const { pid, postgres, settled, tidy } = target;
  await send(workloads, sample, target, warmUp);
  await settled();
  await tidy();
  const before = { server: cpuOf(pid), postgres: cpuOf(postgres) };
  const { requests, latency, ...result } = await send(workloads, sample, target, seconds);
  await settled();
  return {
    perSecond: requests.average,
    p50: latency.p50,
    p99: latency.p99,
    server: (cpuOf(pid) - before.server) / result['2xx'],
    postgres: (cpuOf(postgres) - before.postgres) / result['2xx'],
  };
}

/**
 * Loads several services on one Postgres at the same time, so that they run under equal conditions. Returns for each the
 * CPU milliseconds per request, including the average of Postgres.
 */
export async function loadTogether(
  workload: Workload,
  sample: Sample,
  targets: Target[],
  seconds: number,
): Promise<number[]> {
  const trees = () => [...targets.map(({ pid }) => pid), targets[0]?.postgres ?? 0].map(cpuOf);
  const before = trees();
  const results = await Promise.all(targets.map(target => send([workload], sample, target, seconds)));
  const used = trees().map((cpu, i) => cpu - (before[i] ?? 0));
  const answered = results.map(result => result['2xx']);
  const postgres = (used.at(-1) ?? 0) / answered.reduce((sum, count) => sum + count);
  return answered.map((count, i) => (used[i] ?? 0) / count + postgres);
}

/** Sends workloads in turn for some seconds; a wrong answer ends the run. */
export async function send(
  workloads: Workload[],
  sample: Sample,
  { port }: Target,
  seconds: number,
): Promise<autocannon.Result> {
  let wrong: string | undefined;
  const requestOf = (workload: Workload): autocannon.Request => ({
    setupRequest: request => ({ ...request, ...workload.request(sample) }),
    onResponse: (status, body) => {
      try {
        equal(status, workload.status);
        workload.check(/^[{[]/.test(body) ? JSON.parse(body) : body);
      } catch (error) {
        wrong ??= `${workload.name}: ${status} ${body.slice(0, 300)}: ${error}`;
      }
    },
  });
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections: 50,
    timeout: 60,
    duration: seconds,
    requests: workloads.map(requestOf),
  });
  if (result.errors + result.timeouts > 0) wrong ??= `${result.errors} errors, ${result.timeouts} timeouts`;
  if (wrong !== undefined || result['2xx'] === 0) throw new Error(`Port ${port}: ${wrong ?? 'no answer'}`);
  return result;
}
