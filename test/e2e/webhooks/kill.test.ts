// runs: long
import t from 'tap';
import { createPostgres } from '#test/helper/database.ts';
import { makeDataFolder, startService, until } from '#test/rig/process.ts';
import { all, payMany, secrets, total } from '#test/rig/sender.ts';
import { freePort } from '#test/rig/servers/ports.ts';

const many = 600;
const isRewritten = ({ createdAt, updatedAt }: Record<string, string>) => createdAt !== updatedAt;

for (const backend of ['postgres', 'embedded'])
  t.test(
    `killed in the middle of ${many} events (${backend}): every acknowledged event takes effect exactly once`,
    async t => {
      const env: Record<string, string> = { WEBHOOK_SECRETS: secrets };
      if (backend === 'postgres') env.DATABASE_URL = await createPostgres(t, { empty: true });
      else env.DATA_DIR = makeDataFolder(t);
      env.PORT = String(await freePort());
      let service = await startService(t, env);
      let killed = false;
      const acknowledged = await payMany(() => service.url, {
        from: 0,
        to: many,
        each: done => {
          if (done < many / 2 || killed) return;
          killed = true;
          void service.kill();
        },
      });
      t.ok(
        killed && acknowledged.size >= many / 2 && acknowledged.size < many,
        `${acknowledged.size} were acknowledged`,
      );

      service = await startService(t, env);
      const unfinished = ['received', 'failed'];
      const hasNone = async (status: string) =>
        (await total(service.url, `/api/webhook-events?status=${status}`)) === 0;
      await until(
        'no event is unfinished',
        async () => (await Promise.all(unfinished.map(hasNone))).every(Boolean),
        120,
      );
      const events = await all(service.url, '/api/webhook-events');
      const subscriptions = await all(service.url, '/api/subscriptions');
      const active = new Set(subscriptions.map(({ customer }) => customer));
      t.same(
        [...acknowledged].filter(n => !active.has(`cus_${n}`)),
        [],
        'no acknowledged event is lost',
      );
      t.equal(active.size, subscriptions.length, 'one subscription per customer');
      t.same(subscriptions.filter(isRewritten), [], 'written once');
      t.equal(events.length, subscriptions.length, 'events stored without an answer take effect too');
      t.ok(events.every(({ status }) => status === 'processed'));

      const again = await payMany(() => service.url, { from: 0, to: many });
      t.equal(again.size, many, 'every event can be sent again');
      await until(
        'all are active',
        async () => (await total(service.url, '/api/subscriptions')) === many,
        60,
      );
      t.same((await all(service.url, '/api/subscriptions')).filter(isRewritten), []);
      t.equal(await service.kill('SIGTERM'), 0);
    },
  );
