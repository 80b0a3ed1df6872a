import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Citus } from '../test/rig/citus/citus.ts';
import { send } from './load.ts';
import { cpuOf, start, stop } from './processes.ts';
import { workloads } from './workloads.ts';

const secret = 'whsec_bench';
/** As in production, and for the single server as well. */
const settings = `
fsync = on
shared_buffers = 256MB
citus.max_adaptive_executor_pool_size = 1
`;

/** The cost of an event, its processing included, on one PostgreSQL and on Citus with one, two and three nodes. */
export async function measureCitus({
  rounds,
  seconds,
}: {
  rounds: number;
  seconds: number;
}): Promise<string> {
  const columns = [
    'database',
    'events/s',
    'p50 / p99, ms',
    'service',
    'coordinator',
    'other nodes',
    'CPU ms together',
  ];
  const lines = [`| ${columns.join(' | ')} |`, `|${columns.map(() => '---|').join('')}`];
  const all: string[][] = [];
  for (let round = 0; round < rounds; round++)
    for (const [n, nodes] of [0, 1, 2, 3].entries()) {
      const cells = await measure(nodes, seconds);
      console.error(cells.join(' '));
      all[n] = [...(all[n] ?? []), cells.join(' | ')];
    }
  // The median by the whole cost, which is the last figure.
  const cost = (line: string) => Number(line.split(' | ').at(-1));
  for (const figures of all)
    lines.push(`| ${figures.toSorted((a, b) => cost(a) - cost(b))[figures.length >> 1]} |`);
  return lines.join('\n');
}

/** Without nodes: the tables are not spread, and Citus is not installed in the database. */
async function measure(nodes: number, seconds: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'triport-citus-'));
  chmodSync(folder, 0o755);
  const options = { folder: join(folder, 'citus'), settings };
  const citus =
    nodes === 0
      ? await Citus.start({ ...options, nodes: 1 })
      : await Citus.open('triport', { ...options, nodes });
  let service: ChildProcess | undefined;
  try {
    const url = citus.coordinator.urlOf('triport');
    if (nodes === 0) await citus.coordinator.query('postgres', 'create database triport');
    service = await start(['src/main.ts'], 4102, {
      ...{ NODE_ENV: 'production', AUTH_MODE: 'open', LOG_LEVEL: 'error', RATE_LIMIT_MAX: '1000000000' },
      ...{ DATABASE_URL: url, WEBHOOK_SECRETS: JSON.stringify({ stripe: [secret] }) },
    });
    const settled = async () => {
      const left = `select 1 from webhook_events where status not in ('processed', 'ignored') limit 1`;
      while ((await citus.coordinator.query('triport', left)).length > 0) await sleep(50);
    };
    const workload = workloads.filter(({ name }) => name === 'W6');
    const sample = { users: [], deepPage: 0, secret };
    const target = { port: 4102, pid: service.pid ?? 0, postgres: 0, settled, tidy: async () => {} };
    await send(workload, sample, target, 3);
    await settled();
    const pids = [target.pid, ...citus.nodes.map(({ pid }) => pid)];
    const before = pids.map(cpuOf);
    const { requests, latency, ...result } = await send(workload, sample, target, seconds);
    await settled();
    const [own = 0, coordinator = 0, ...others] = pids.map(
      (pid, i) => (cpuOf(pid) - (before[i] ?? 0)) / result['2xx'],
    );
    const rest = others.reduce((sum, each) => sum + each, 0);
    return [
      nodes === 0 ? 'PostgreSQL alone' : `Citus, ${nodes} ${nodes === 1 ? 'node' : 'nodes'}`,
      Math.round(requests.average).toLocaleString('en'),
      `${latency.p50} / ${latency.p99}`,
      ...[own, coordinator, rest, own + coordinator + rest].map(figure => figure.toFixed(3)),
    ];
  } finally {
    if (service) await stop(service);
    await citus.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
