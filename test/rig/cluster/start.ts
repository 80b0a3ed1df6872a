import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Arguments, type Io, mainOf, UsageError } from '../../../src/command.ts';
import { exit } from '../../../src/process/exit.ts';
import { Load } from '../chaos/load.ts';
import { Citus } from '../citus/citus.ts';
import { secrets } from '../sender.ts';
import { Cluster } from './cluster.ts';

const usage = `npm run cluster -- [--port 8080] [--servers 3] [--balancer nginx|haproxy] [--citus] [--prometheus] [--rolling]

Starts the cluster of deploy/compose.yaml as local processes instead of containers. It needs nginx (or HAProxy) and
redis-server; PostgreSQL comes from npm unless DATABASE_URL names one. Clients have no rate limit unless RATE_LIMIT_MAX sets one.
Ctrl-C stops and removes everything.

  --port        of the balancer; the servers and the rest have the ports that follow
  --servers     1 to 3
  --citus       on a Citus of three nodes, with the tables spread; it must be installed
  --prometheus  an installed Prometheus collects the metrics
  --rolling     restarts one server after the other while clients send requests, and counts what they notice

Example: npm run cluster -- --servers 2 --rolling`;

const options = {
  port: { type: 'string', default: '8080' },
  servers: { type: 'string', default: '3' },
  balancer: { type: 'string', default: 'nginx' },
  citus: { type: 'boolean' },
  prometheus: { type: 'boolean' },
  rolling: { type: 'boolean' },
} as const;
type Values = Arguments<typeof options>['values'];

function check({ port, servers, balancer, citus, rolling }: Values, { env }: Io) {
  if (balancer !== 'nginx' && balancer !== 'haproxy') throw new UsageError('--balancer is nginx or haproxy');
  if (!(Number(port) >= 1 && Number(port) <= 65_000)) throw new UsageError('--port must be 1 to 65000');
  if (!/^[123]$/.test(servers)) throw new UsageError('--servers must be 1 to 3');
  if (rolling && servers === '1')
    throw new UsageError('--rolling needs a second server, which answers meanwhile');
  if (citus && env.DATABASE_URL) throw new UsageError('--citus starts its own database: unset DATABASE_URL');
  return { balancer, port: Number(port), servers: Number(servers) } as const;
}

async function startCluster({ values }: Arguments<typeof options>, io: Io): Promise<void> {
  const { DATABASE_URL, RATE_LIMIT_MAX = '1000000000' } = io.env;
  const choices = { ...check(values, io), prometheus: values.prometheus, env: { RATE_LIMIT_MAX } };
  const startingCitus = values.citus ? startCitus(io) : undefined;
  let cluster: Cluster | undefined;
  let interrupted = false;
  async function close() {
    await cluster?.close();
    const citus = await startingCitus?.catch(() => undefined);
    await citus?.stop();
  }
  function interrupt() {
    if (interrupted) return;
    interrupted = true;
    io.out('Stopping.');
    void close().finally(() => exit(0));
  }
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    const databaseUrl = (await startingCitus)?.coordinator.urlOf() ?? DATABASE_URL;
    const prepared = await Cluster.prepare({ ...choices, databaseUrl });
    // Otherwise it would start after all is closed.
    if (interrupted) return await prepared.close();
    cluster = prepared;
    io.out(`Starting, in ${cluster.folder}`);
    await cluster.start();
    if (!interrupted) io.out(describe(cluster, io.env));
    if (!interrupted && values.rolling) await restartUnderLoad(cluster, io);
  } catch (error) {
    await close();
    throw error;
  }
  // Signal handlers alone do not keep the process alive.
  setInterval(() => {}, 3_600_000);
}

async function startCitus(io: Io) {
  const folder = mkdtempSync(join(tmpdir(), 'triport-citus-'));
  // Under root, PostgreSQL runs as another user, which needs access.
  chmodSync(folder, 0o755);
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  io.out(`Starting Citus, in ${folder}`);
  return await Citus.open(join(folder, 'nodes'));
}

function describe(cluster: Cluster, { DATABASE_URL, RATE_LIMIT_MAX }: Io['env']): string {
  const { url, folder } = cluster;
  const database = DATABASE_URL ? '' : `DATABASE_URL=${cluster.databaseUrl} `;
  return `${cluster.balancer.name.padEnd(9)} ${url}
servers   ${cluster.serverUrls.join('  ')}
workers   ${cluster.workers.length}
limit     ${RATE_LIMIT_MAX ? `${RATE_LIMIT_MAX} requests a minute for a client` : 'none; RATE_LIMIT_MAX sets one'}
database  ${DATABASE_URL ? 'from DATABASE_URL' : cluster.databaseUrl}${cluster.prometheus ? `\nmetrics   ${cluster.prometheus.url}` : ''}

In another terminal:
  curl ${url}/api/users
  curl ${url}/api/users --json '{"name":"Ada Lovelace","email":"ada@example.com"}'
  WEBHOOK_SECRETS='${secrets}' npm run webhook -- send payment_intent.succeeded --url ${url}
  ${database}npm run -s keys -- create --name me --scopes admin
  tail -f ${folder}/*.log
Ctrl-C stops and removes everything.`;
}

/** A rolling restart that one can watch. */
async function restartUnderLoad(cluster: Cluster, io: Io): Promise<void> {
  const load = new Load(cluster.url, 'rolling');
  const { counts } = load;
  const report = () =>
    `${counts.answered} requests answered, ${counts.refused + counts.lost + counts.wrong} failed`;
  io.out('\nRestarting one server after the other, while four clients read, create users and send events.');
  load.start(4);
  await cluster.restartServers((server, step) => io.out(`${server} ${step.padEnd(12)} ${report()}`));
  await load.stop();
  io.out(`All servers are new: ${report()}.`);
}

export const main = await mainOf(import.meta, { usage, options, run: startCluster });
