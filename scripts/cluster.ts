import { type Given, runCommand, UsageError } from '../src/command.ts';
import { Cluster, webhookSecret } from '../test/rig/cluster/cluster.ts';
import { onInterrupt } from '../test/rig/cluster/ending.ts';

const usage = `npm run cluster -- [--balancer nginx|haproxy] [--prometheus]

Starts the cluster of deploy/compose.yaml as local processes instead of containers. It needs nginx (or HAProxy) and
redis-server; PostgreSQL comes from npm unless DATABASE_URL names one. With --prometheus, an installed Prometheus
collects the metrics. Ctrl-C stops and removes everything.`;

const options = { balancer: { type: 'string', default: 'nginx' }, prometheus: { type: 'boolean' } } as const;

async function main({ values: { balancer, prometheus } }: Given<typeof options>) {
  if (balancer !== 'nginx' && balancer !== 'haproxy') throw new UsageError('--balancer is nginx or haproxy');
  const { DATABASE_URL: databaseUrl } = process.env;
  const cluster = await Cluster.prepare({ balancer, databaseUrl, prometheus });
  onInterrupt(async () => {
    console.log('Stopping.');
    await cluster.close();
  });
  console.log(`Starting, in ${cluster.folder}`);
  await cluster.start();
  if (!cluster.closing)
    console.log(`${balancer}     ${cluster.url}
servers   ${cluster.serverUrls.join('  ')}
workers   ${cluster.workers.length}
database  ${databaseUrl ? 'from DATABASE_URL' : cluster.databaseUrl}
webhooks  npm run webhook needs WEBHOOK_SECRETS='{"stripe":["${webhookSecret}"]}'
logs      ${cluster.folder}/*.log${cluster.prometheus ? `\nmetrics   ${cluster.prometheus.url}` : ''}
Ctrl-C ends it.`);
  // Signal handlers alone do not keep the process alive.
  setInterval(() => {}, 3_600_000);
}

await runCommand({ usage, options, run: main });
