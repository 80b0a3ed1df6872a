import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { citusFaults, database } from '../../rig/chaos/citusFaults.ts';
import { countKept, Load } from '../../rig/chaos/load.ts';
import { Citus } from '../../rig/citus/citus.ts';
import { citusPrograms } from '../../rig/citus/node.ts';
import { has, openCluster } from '../../rig/openCluster.ts';
import { makeFolder, until } from '../../rig/process.ts';

const missing = ['nginx', 'redis-server'].filter(program => !has(program));
if (!citusPrograms()) missing.push('Citus');
const skip = missing.length > 0 && `needs ${missing.join(' and ')}`;
t.setTimeout(300_000);

t.test('on Citus, nothing that was acknowledged is lost or done twice', { skip }, async t => {
  const citus = await Citus.open(database, { folder: join(makeFolder(t), 'citus') });
  t.teardown(() => citus.stop());
  const databaseUrl = citus.coordinator.urlOf(database);
  const cluster = await openCluster(t, { databaseUrl, env: { RATE_LIMIT_MAX: '1000000000' } });
  for (const { name, run } of citusFaults)
    await t.test(name, async t => {
      const load = new Load(cluster.url, name.replace(/\W+/g, '-'));
      load.start(4);
      await sleep(500);
      await run({ cluster, citus, seconds: 2 });
      await load.stop();
      t.ok(load.customers.length > 0 && load.emails.length > 0, 'something was acknowledged');
      t.same([...load.wrongAnswers], []);
      const expected = { effects: load.customers.length, twice: 0, users: load.emails.length };
      await until(
        `${name}: everything is there`,
        async () => {
          const kept = await countKept(databaseUrl, load);
          t.equal(kept.twice, 0);
          return kept.effects === expected.effects && kept.users === expected.users;
        },
        90,
      );
    });
});
