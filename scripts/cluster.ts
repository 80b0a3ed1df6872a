import { type Given, runCommand, UsageError } from '../src/command.ts';
import { Cluster, webhookSecret } from '../test/rig/cluster/cluster.ts';
import { whenAsked } from '../test/rig/cluster/ending.ts';

const usage = `npm run cluster -- [--balancer nginx|haproxy] [--prometheus]

What deploy/compose.yaml makes from images, from processes of this machine. It needs nginx (or HAProxy) and
redis-server; PostgreSQL comes from npm unless DATABASE_URL names one. With --prometheus, an installed Prometheus
collects what is measured. Ctrl-C ends and removes it all.`;

const options = { balancer: { type: 'string', default: 'nginx' }, prometheus: { type: 'boolean' } } as const;

async function main({ values: { balancer, prometheus } }: Given<typeof options>) {
  if (balancer !== 'nginx' && balancer !== 'haproxy') throw new UsageError('--balancer is nginx or haproxy');
  const { DATABASE_URL: databaseUrl } = process.env;
  const cluster = await Cluster.prepare({ balancer, databaseUrl, prometheus });
  whenAsked(async () => {
    console.log('Ending.');
    await cluster.close();
  });
  console.log(`Starting, in ${cluster.folder}`);
  await cluster.start();
  if (!cluster.closing)
    console.log(`${balancer}     ${cluster.url}
servers   ${cluster.serverUrls.join('  ')}
workers   ${cluster.workers.length}
database  ${databaseUrl ? 'that of DATABASE_URL' : cluster.databaseUrl}
webhooks  npm run webhook needs WEBHOOK_SECRETS='{"stripe":["${webhookSecret}"]}'
logs      ${cluster.folder}/*.log${cluster.prometheus ? `\nnumbers   ${cluster.prometheus.url}` : ''}
Ctrl-C ends it.`);
  // Signals alone do not keep a process.
  setInterval(() => {}, 3_600_000);
}

await runCommand({ usage, options, run: main });
