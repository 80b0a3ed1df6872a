import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { createPostgres } from '../../helper/database.ts';
import { openLine } from '../../rig/line.ts';
import { startService, until, untilReady } from '../../rig/process.ts';
import { all, pay, payMany, secrets, total } from '../../rig/sender.ts';
import { freePort } from '../../rig/servers/ports.ts';

t.setTimeout(200_000);

t.test(
  'Postgres away at the start and under load: every 200 has a stored event, and all are processed later',
  {
    timeout: 180_000,
  },
  async t => {
    const line = await openLine(t, await createPostgres(t, { empty: true }));
    const port = await freePort();
    const starting = startService(t, {
      WEBHOOK_SECRETS: secrets,
      DATABASE_URL: line.url,
      PORT: String(port),
    });
    const url = `http://127.0.0.1:${port}`;
    let first: number | undefined;
    await until('it listens', async () => {
      first = await pay(url, 'evt_early', 'cus_early');
      return first !== undefined;
    });
    t.equal(first, 503, '503 makes the provider send it again');
    line.restore();
    const service = await starting;

    let cuts = 0;
    const acknowledged = await payMany(() => url, {
      from: 0,
      to: 3000,
      each: done => {
        if (done < (cuts + 1) * 300 || cuts === 3) return;
        cuts++;
        line.cut();
        setTimeout(line.restore, 400);
      },
    });
    await untilReady(service, 60);
    t.equal(cuts, 3);
    t.ok(
      acknowledged.size >= 500 && acknowledged.size < 3000,
      `${acknowledged.size} of 3000 were acknowledged`,
    );
    const isDone = async () =>
      (await total(url, '/api/webhook-events')) ===
      (await total(url, '/api/webhook-events?status=processed'));
    await until('all are processed', isDone, 90);
    const active = new Set((await all(url, '/api/subscriptions')).map(({ customer }) => customer));
    t.same(
      [...acknowledged].filter(n => !active.has(`cus_${n}`)),
      [],
    );

    await sleep(1500);
    const before = Date.now();
    await pay(url, 'evt_after', 'cus_after');
    const isActive = async () => (await fetch(`${url}/api/subscriptions/cus_after`)).ok;
    await until('a new event is processed', isActive, 5);
    t.ok(Date.now() - before < 3000, 'the worker looks again');
    t.equal(await service.kill('SIGTERM'), 0);
  },
);

t.test('the service stops on SIGTERM even if it never reached Postgres', async t => {
  const line = await openLine(t, await createPostgres(t, { empty: true }));
  const env = { WEBHOOK_SECRETS: secrets, DATABASE_URL: line.url };
  const service = await startService(t, env, { ready: false });
  await until('it answers with 503', async () => (await pay(service.url, 'evt_1', 'cus_1')) === 503);
  const before = Date.now();
  t.equal(await service.kill('SIGTERM'), 0);
  t.ok(Date.now() - before < 5000, `in ${Date.now() - before} ms`);
});
