import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Given, runCommand, UsageError } from '../src/command.ts';
import { Load } from '../test/rig/chaos/load.ts';
import { Citus } from '../test/rig/citus/citus.ts';
import { Cluster, webhookSecret } from '../test/rig/cluster/cluster.ts';
import { onInterrupt } from '../test/rig/cluster/ending.ts';

const usage = `npm run cluster -- [--port 8080] [--servers 3] [--balancer nginx|haproxy] [--citus] [--prometheus] [--rolling]

Starts the cluster of deploy/compose.yaml as local processes instead of containers. It needs nginx (or HAProxy) and
redis-server; PostgreSQL comes from npm unless DATABASE_URL names one. Ctrl-C stops and removes everything.

  --port        of the balancer; the servers and the rest have the ports that follow
  --servers     1 to 3
  --citus       on a Citus of three nodes, with the tables spread; it must be installed
  --prometheus  an installed Prometheus collects the metrics
  --balancer    nginx or haproxy
  --rolling     restarts one server after the other while clients send requests, and counts what they notice

Example: npm run cluster -- --servers 2 --rolling`;

const options = {
  port: { type: 'string', default: '8080' },
  servers: { type: 'string', default: '3' },
  balancer: { type: 'string', default: 'nginx' },
  citus: { type: 'boolean', default: false },
  prometheus: { type: 'boolean' },
  rolling: { type: 'boolean' },
} as const;

async function main({
  values: { port: given, servers: serverCount, balancer, citus: onCitus, prometheus, rolling },
}: Given<typeof options>) {
  if (balancer !== 'nginx' && balancer !== 'haproxy') throw new UsageError('--balancer is nginx or haproxy');
  const port = /^\d+$/.test(given) ? Number(given) : 0;
  if (port < 1 || port > 65_000) throw new UsageError('--port must be 1 to 65000');
  if (!/^[123]$/.test(serverCount)) throw new UsageError('--servers must be 1 to 3');
  if (rolling && serverCount === '1')
    throw new UsageError('--rolling needs a second server, which answers meanwhile');
  const { DATABASE_URL } = process.env;
  if (onCitus && DATABASE_URL) throw new UsageError('--citus starts its own database: unset DATABASE_URL');
  const startingCitus = onCitus ? startCitus() : undefined;
  let cluster: Cluster | undefined;
  let interrupted = false;
  async function close() {
    await cluster?.close();
    const citus = await startingCitus?.catch(() => undefined);
    await citus?.stop();
  }
  onInterrupt(() => {
    interrupted = true;
    console.log('Stopping.');
    return close();
  });
  try {
    const databaseUrl = (await startingCitus)?.url ?? DATABASE_URL;
    const env = rolling ? { RATE_LIMIT_MAX: '1000000000' } : {};
    const servers = Number(serverCount);
    const prepared = await Cluster.prepare({ balancer, servers, databaseUrl, prometheus, port, env });
    // Otherwise it would start after all is closed.
    if (interrupted) return await prepared.close();
    cluster = prepared;
    console.log(`Starting, in ${cluster.folder}`);
    await cluster.start();
    if (!cluster.closing) console.log(describe(cluster, DATABASE_URL !== undefined));
    if (!cluster.closing && rolling) await restartUnderLoad(cluster);
  } catch (error) {
    await close();
    throw error;
  }
  // Signal handlers alone do not keep the process alive.
  setInterval(() => {}, 3_600_000);
}

async function startCitus() {
  const folder = mkdtempSync(join(tmpdir(), 'triport-citus-'));
  // Under root, PostgreSQL runs as another user, which needs access.
  chmodSync(folder, 0o755);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  console.log(`Starting Citus, in ${folder}`);
  const citus = await Citus.open('triport', { folder: join(folder, 'nodes') }).catch(error => {
    remove();
    throw error;
  });
  const stop = () => citus.stop().finally(remove);
  return { url: citus.coordinator.urlOf('triport'), stop };
}

function describe(cluster: Cluster, isGiven: boolean): string {
  const { url, folder } = cluster;
  const database = isGiven ? '' : `DATABASE_URL=${cluster.databaseUrl} `;
  const secrets = `WEBHOOK_SECRETS='{"stripe":["${webhookSecret}"]}'`;
  return `${cluster.balancer.name.padEnd(9)} ${url}
servers   ${cluster.serverUrls.join('  ')}
workers   ${cluster.workers.length}
database  ${isGiven ? 'from DATABASE_URL' : cluster.databaseUrl}${cluster.prometheus ? `\nmetrics   ${cluster.prometheus.url}` : ''}

In another terminal:
  curl ${url}/api/users
  curl ${url}/api/users --json '{"name":"Ada Lovelace","email":"ada@example.com"}'
  ${secrets} npm run webhook -- send payment_intent.succeeded --url ${url}
  ${database}npm run -s keys -- create --name me --scopes admin
  tail -f ${folder}/*.log
Ctrl-C stops and removes everything.`;
}

/** A rolling restart that one can watch. */
async function restartUnderLoad(cluster: Cluster): Promise<void> {
  const load = new Load(cluster.url, 'rolling');
  const { counts } = load;
  const report = () =>
    `${counts.answered} requests answered, ${counts.refused + counts.lost + counts.wrong} failed`;
  console.log(
    '\nRestarting one server after the other, while four clients read, create users and send events.',
  );
  load.start(4);
  await cluster.restartServers((server, step) => console.log(`${server} ${step.padEnd(12)} ${report()}`));
  await load.stop();
  console.log(`All servers are new: ${report()}.`);
}

await runCommand({ usage, options, run: main });
