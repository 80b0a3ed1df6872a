import autocannon from 'autocannon';
import { cpuOf } from './processes.ts';
import type { Sample, Workload } from './workloads.ts';

export interface Figures {
  perSecond: number;
  p50: number;
  p99: number;
  /** CPU milliseconds for each request. */
  server: number;
  postgres: number;
}

export const cpu = ({ server, postgres }: Figures) => server + postgres;

/** Sends a workload for some seconds and tells what a request cost. Any answer that is not right ends the run. */
export async function load(
  workload: Workload,
  sample: Sample,
  target: { port: number; pid: number; postgres: number },
  seconds: number,
): Promise<Figures> {
  await checkOnce(workload, sample, target.port);
  await send(workload, sample, target.port, 1);
  const before = { server: cpuOf(target.pid), postgres: cpuOf(target.postgres) };
  const result = await send(workload, sample, target.port, seconds);
  const answered = result['2xx'];
  return {
    perSecond: result.requests.average,
    p50: result.latency.p50,
    p99: result.latency.p99,
    server: (cpuOf(target.pid) - before.server) / answered,
    postgres: (cpuOf(target.postgres) - before.postgres) / answered,
  };
}

async function send(
  workload: Workload,
  sample: Sample,
  port: number,
  seconds: number,
): Promise<autocannon.Result> {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections: 50,
    duration: seconds,
    requests: [{ setupRequest: request => ({ ...request, ...workload.request(sample) }) }],
  });
  const wrong = result.non2xx + result.errors + result.timeouts;
  if (wrong > 0 || result['2xx'] === 0)
    throw new Error(`${workload.name}: ${wrong} answers are wrong, ${result['2xx']} right`);
  return result;
}

async function checkOnce(workload: Workload, sample: Sample, port: number): Promise<void> {
  const { path, ...rest } = workload.request(sample);
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, rest);
  const text = await reply.text();
  if (reply.status !== workload.status) throw new Error(`${workload.name}: ${reply.status} ${text}`);
  workload.check(/^[{[]/.test(text) ? JSON.parse(text) : text);
}
