import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Cluster } from '#test/rig/cluster/cluster.ts';
import { until } from '#test/rig/process.ts';
import type { Fault } from './faults.ts';
import { isAllKept, Load } from './load.ts';

/** Causes each fault under load. Nothing acknowledged may be lost or done twice, and no answer may be wrong. */
export async function runFaults<S extends { cluster: Cluster }>(t: Test, scene: S, faults: Fault<S>[]) {
  const { url, databaseUrl } = scene.cluster;
  for (const { name, unnoticed = false, run } of faults)
    await t.test(name, async t => {
      const load = new Load(url, name.replace(/\W+/g, '-'));
      load.start(4);
      await sleep(1000);
      await run(scene);
      const over = Date.now();
      await sleep(1000);
      await load.stop();
      await until('everything is there', () => isAllKept(databaseUrl, load));
      t.comment({ ...load.counts, 'recovered after': `${(Date.now() - over) / 1000} s` });
      t.ok(load.customers.length > 0 && load.emails.length > 0, 'something was acknowledged');
      t.same([...load.wrongAnswers], []);
      if (unnoticed) t.match(load.counts, { refused: 0, lost: 0 }, 'no client noticed');
    });
}
