import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { paymentEvent } from '#test/helper/events/webhooks.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import type { Cluster } from '#test/rig/cluster/cluster.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { Prometheus, type Series } from '#test/rig/cluster/prometheus.ts';
import { has, openCluster } from '#test/rig/openCluster.ts';
import { makeFolder, until } from '#test/rig/process.ts';
import { deliver } from '#test/rig/sender.ts';
import { freePort } from '#test/rig/servers/ports.ts';

const programs = ['prometheus', 'promtool', 'nginx', 'redis-server'];
const skip = !programs.every(has) && `one of ${programs.join(', ')} is not installed`;

t.test('Prometheus accepts the configuration, and the alerts fire when they should', { skip }, async t => {
  for (const args of [
    ['check', 'config', 'deploy/prometheus.yml'],
    ['check', 'rules', 'deploy/alerts.yml'],
    ['test', 'rules', 'test/nightly/alerts.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args);
    t.equal(status, 0, `${args.join(' ')} ${stdout} ${stderr}`);
  }
});

interface Panel {
  title: string;
  targets: { expr: string }[];
}

/** Sends one request of every kind that a panel shows. */
async function use({ url }: Cluster, i: number) {
  const event = JSON.stringify(paymentEvent({ id: `evt_${i}`, customer: `cus_${i}` }));
  const answers = [
    await ask(`${url}/api/users?limit=5`),
    await ask(`${url}/api/users`, json({ name: 'Ada', email: `${i}@example.com` })),
    await ask(`${url}/api/graphql`, json({ query: '{ users { name email } }' })),
    await deliver(url, event),
    await deliver(url, event, { key: 'whsec_of_another' }),
  ];
  return answers.map(({ status }) => status);
}

t.test('every panel of the dashboard has data from a cluster in use', { skip }, async t => {
  // An event that fails is dead at once if there are no retries.
  const env = { RATE_LIMIT_MAX: '1000000', WEBHOOK_RETRIES: '0' };
  const cluster = await openCluster(t, { env });
  const port = await freePort();
  const prometheus = new Prometheus({ folder: makeFolder(t), port, targets: cluster.metricsPorts });
  t.teardown(() => prometheus.stop());
  await prometheus.start();
  const from = Date.now();

  t.same(await use(cluster, 0), [200, 201, 200, 200, 400]);
  const query = (text: string) => queryPostgres(cluster.databaseUrl, text);
  await query(
    `create function fail() returns trigger language plpgsql as $$ begin if new.customer > 'cus_5' then raise 'No.'; end if; return new; end $$`,
  );
  await query('create trigger fail before insert on subscriptions for each row execute function fail()');
  let done = false;
  const usage = (async () => {
    for (let i = 1; !done; i++) await use(cluster, i);
  })();
  t.teardown(async () => {
    done = true;
    await usage;
  });

  const { panels } = JSON.parse(readFileSync('deploy/grafana-dashboard.json', 'utf8')) as { panels: Panel[] };
  for (const { title, targets } of panels)
    for (const { expr } of targets) {
      // Grafana replaces these variables the same way.
      const query = expr.replaceAll('$job', '.*').replaceAll('$__rate_interval', '10s');
      let lines: Series[] = [];
      const hasData = async () => {
        await sleep(200);
        lines = await prometheus.query(query, from);
        return lines.some(({ values }) => values.some(([, value]) => value !== 'NaN'));
      };
      await t.resolves(until(`${title} has data: ${query}`, hasData), title);
      const names = lines.map(({ metric }) => JSON.stringify(metric));
      t.equal(new Set(names).size, names.length);
    }

  const { activeTargets } = await prometheus.ask<{ activeTargets: { health: string }[] }>('targets');
  t.same(
    activeTargets.map(({ health }) => health),
    Array(5).fill('up'),
  );
  const { groups } = await prometheus.ask<{ groups: { rules: Rule[] }[] }>('rules');
  for (const { name, health } of groups.flatMap(({ rules }) => rules)) t.equal(health, 'ok', name);
  const firing = async () => {
    const { alerts } = await prometheus.ask<{ alerts: { labels: { alertname: string } }[] }>('alerts');
    return alerts.some(({ labels }) => labels.alertname === 'EventsDead');
  };
  await t.resolves(until('the alert for dead events fires', firing));
});

interface Rule {
  name: string;
  health: string;
}
