import t from 'tap';
import { changeSubscriptions } from '../../src/services/subscriptions/changeSubscriptions.ts';
import { inside } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { statusEvent } from '../helper/webhooks.ts';

t.test('GraphQL and REST return the same subscriptions', async t => {
  const { call, database } = await build(t);
  const context = inside(database);
  for (const customer of ['cus_1', 'cus_2'])
    await changeSubscriptions(context, [statusEvent('active', { customer })]);
  await changeSubscriptions(context, [statusEvent('active', { customer: 'cus_2', provider: 'other' })]);

  const items = 'items { id status statusAt currentPeriodEnd cancelAtPeriodEnd }';
  const fields = `customer provider status activatedAt ${items} version createdAt updatedAt`;
  const ask = async (query: string) => (await call('POST', '/api/graphql', 200, { body: { query } })).body;
  const { data } = await ask(
    `{ subscriptions(provider: "stripe", status: active, sort: customer_desc) { ${fields} } subscriptionsCount }`,
  );
  const listed = await call('GET', '/api/subscriptions?provider=stripe&status=active&sort=-customer', 200);
  t.same(data.subscriptions, listed.body.data);
  t.equal(data.subscriptionsCount, 3);

  const one = await ask(`{ subscription(customer: "cus_1") { ${fields} } }`);
  t.same(one.data.subscription, (await call('GET', '/api/subscriptions/cus_1', 200)).body);
  t.same((await ask('{ subscription(customer: "cus_9") { customer } }')).data, { subscription: null });

  const several = await ask('{ subscription(customer: "cus_2") { customer } }');
  t.match(several.errors, [{ extensions: { code: 'CONFLICT', details: { code: 'several_providers' } } }]);
  const named = await ask('{ subscription(customer: "cus_2", provider: "other") { provider } }');
  t.same(named.data.subscription, { provider: 'other' });
});
