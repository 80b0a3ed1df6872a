import { parseArgs } from 'node:util';
import type { BalancerKind } from './cluster/balancer.ts';
import { Cluster, webhookSecret } from './cluster/cluster.ts';
import { whenAsked } from './cluster/ending.ts';

/**
 * `npm run cluster`: what deploy/compose.yaml makes from images, from processes of this machine. It needs nginx (or
 * HAProxy) and redis-server; PostgreSQL comes from npm unless DATABASE_URL names one. With --prometheus, an installed
 * Prometheus collects what is measured. Ctrl-C ends and removes it all.
 */
const { values } = parseArgs({
  options: { balancer: { type: 'string', default: 'nginx' }, prometheus: { type: 'boolean' } },
});
if (values.balancer !== 'nginx' && values.balancer !== 'haproxy')
  throw new Error('--balancer is nginx or haproxy');

const cluster = await Cluster.prepare({
  balancer: values.balancer satisfies BalancerKind,
  databaseUrl: process.env.DATABASE_URL,
  prometheus: values.prometheus,
});
whenAsked(async () => {
  console.log('Ending.');
  await cluster.close();
});
console.log(`Starting, in ${cluster.folder}`);
await cluster.start();
if (!cluster.closing)
  console.log(`${values.balancer}     ${cluster.url}
servers   ${cluster.serverUrls.join('  ')}
workers   ${cluster.workers.length}
database  ${process.env.DATABASE_URL ? 'that of DATABASE_URL' : cluster.databaseUrl}
webhooks  npm run webhook needs WEBHOOK_SECRETS='{"stripe":["${webhookSecret}"]}'
logs      ${cluster.folder}/*.log${cluster.prometheus ? `\nnumbers   ${cluster.prometheus.url}` : ''}
Ctrl-C ends it.`);
// Signals alone do not keep a process.
setInterval(() => {}, 3_600_000);
