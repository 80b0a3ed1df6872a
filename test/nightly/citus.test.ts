import { join } from 'node:path';
import t from 'tap';
import { citusFaults } from '#test/rig/chaos/citusFaults.ts';
import { isAllKept, Load } from '#test/rig/chaos/load.ts';
import { runFaults } from '#test/rig/chaos/run.ts';
import { Citus, citusPrograms } from '#test/rig/citus/citus.ts';
import { has, openCluster } from '#test/rig/openCluster.ts';
import { makeFolder, runCommand, until } from '#test/rig/process.ts';

const missing = ['nginx', 'redis-server'].filter(program => !has(program));
if (!citusPrograms()) missing.push('Citus');
const skip = missing.length > 0 && `needs ${missing.join(' and ')}`;

t.test('a database in use is spread, and keeps what is in it', { skip }, async t => {
  const citus = await Citus.start(join(makeFolder(t), 'citus'));
  t.teardown(() => citus.stop());
  const databaseUrl = await citus.createDatabase();
  const cluster = await openCluster(t, { databaseUrl, env: { RATE_LIMIT_MAX: '1000000000' } });
  const load = new Load(cluster.url, 'spread');
  load.start(4);
  await until('there are events', async () => load.customers.length > 50);
  const spread = () => runCommand('scripts/migrate.ts', ['--spread'], { DATABASE_URL: databaseUrl });
  t.match((await spread()).out, 'The tables are spread.');
  const before = load.customers.length;
  await until('events are received again', async () => load.customers.length > before + 50);
  await load.stop();
  t.same([...load.wrongAnswers], []);
  await until('everything is there', () => isAllKept(databaseUrl, load));
  t.match((await spread()).out, 'The tables were spread before.');
});

t.test('on Citus, nothing that was acknowledged is lost or done twice', { skip }, async t => {
  const citus = await Citus.open(join(makeFolder(t), 'citus'));
  t.teardown(() => citus.stop());
  const databaseUrl = citus.coordinator.urlOf();
  const cluster = await openCluster(t, { databaseUrl, env: { RATE_LIMIT_MAX: '1000000000' } });
  await runFaults(t, { cluster, citus, seconds: 2 }, citusFaults);
});
