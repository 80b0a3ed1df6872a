import t from 'tap';
import { lifeOf, story } from '../../helper/events/stripeLife.ts';
import { randomFrom, seed, shuffle } from '../../helper/values/random.ts';
import { signatureOf } from '../../helper/webhooks.ts';
import { ask } from '../../rig/cluster/ask.ts';
import { webhookSecret } from '../../rig/cluster/cluster.ts';
import { has, openCluster } from '../../rig/openCluster.ts';
import { until } from '../../rig/process.ts';
import { all } from '../../rig/sender.ts';

t.setTimeout(180_000);

t.test('lives of subscriptions end the same, through nginx on three servers and two workers', async t => {
  if (!has('nginx') || !has('redis-server')) return t.comment('not installed: nginx and redis-server');
  const { url } = await openCluster(t);
  const deliver = async (event: object) => {
    const body = JSON.stringify(event);
    const headers = {
      'content-type': 'application/json',
      'stripe-signature': signatureOf(body, { key: webhookSecret }),
    };
    t.equal((await ask(`${url}/api/webhooks/stripe`, { method: 'POST', headers, body })).status, 200);
  };
  const unfinished = ['received', 'failed'];
  const isDone = async () =>
    (await all(url, '/api/webhook-events')).every(({ status }) => !unfinished.includes(status));
  const random = randomFrom(seed);

  // One after the other: the audit log tells the whole story.
  for (const event of lifeOf('in_order')) {
    await deliver(event);
    await until('it is processed', isDone);
  }
  // All at once and twice: each customer's events meet in all servers and both workers.
  const customers = Array.from({ length: 20 }, (_, n) => `cus_${n}`);
  const lives = customers.map((customer, n) => (n === 0 ? lifeOf(customer).reverse() : lifeOf(customer)));
  const [first = [], ...others] = lives;
  await Promise.all([...first.map(deliver), ...shuffle([...others, ...others].flat(), random).map(deliver)]);
  await until('all are processed', isDone, 60);

  const events = await all(url, '/api/webhook-events');
  t.equal(events.length, 21 * 9);
  t.ok(events.every(({ status }) => status === 'processed'));
  const subscriptions = await all(url, '/api/subscriptions');
  t.equal(subscriptions.length, 21);
  t.ok(
    subscriptions.every(({ status }) => status === 'canceled'),
    `seed ${seed}`,
  );
  for (const { customer, version } of subscriptions) {
    const told = (await all(url, `/api/audit?record=stripe:${customer}`))
      .reverse()
      .map(({ details }) => details);
    t.equal(told.length, version, customer);
    t.same(
      told.map(({ from }) => from),
      [null, ...told.map(({ to }) => to)].slice(0, -1),
      'each change begins where the one before ended',
    );
    if (customer === 'in_order')
      t.same(
        told.map(({ to }) => to),
        story.map(([to]) => to),
      );
  }
});
