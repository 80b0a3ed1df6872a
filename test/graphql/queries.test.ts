// runs: also on embedded
import { buildSchema } from 'graphql';
import t from 'tap';
import { schemaText } from '#plugins/graphql/schema.ts';
import { changeSubscriptions } from '#src/subscriptions/changeSubscriptions.ts';
import { inside } from '#test/helper/access.ts';
import { statusEvent } from '#test/helper/events/webhooks.ts';
import { buildGraphQL, fill } from '#test/helper/graphql.ts';
import { domain } from '#test/world/index.ts';

t.test('the schema has the types and operations of the contract exactly', async t => {
  const schema = buildSchema(schemaText(domain.fields));
  const typeOf = (type: string, field: string) =>
    String((schema.getType(type) as import('graphql').GraphQLObjectType).getFields()[field]?.type);
  for (const [type, fields] of Object.entries({
    User: { id: 'ID!', name: 'String!', email: 'String!', version: 'Int!', tendings: '[Tending!]!' },
    Burrow: { id: 'ID!', label: 'String!', parent: 'Burrow', burrows: '[Burrow!]!', version: 'Int!' },
    Specimen: { id: 'ID!', bones: 'Int!', weight: 'Float', burrow: 'Burrow!', version: 'Int!' },
    CustomerSubscription: { version: 'Int!' },
    Query: { user: 'User', users: '[User!]!' },
  }))
    for (const [field, expected] of Object.entries(fields)) t.equal(typeOf(type, field), expected);
});

t.test('an unknown id and an invalid id give null without an error', async t => {
  const { ask } = await buildGraphQL(t);
  const query = '{ user(id: "019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90") { id } burrow(id: "\\u0000x") { id } }';
  t.same(await ask(query), { data: { user: null, burrow: null } });
});

t.test('records requested by id are read together', async t => {
  const { post, call, database, statements } = await buildGraphQL(t);
  await fill(database, 20, 1);
  const { body } = await call('GET', '/api/burrows', 200);
  statements.length = 0;
  const fields = body.data.map(({ id }: { id: string }, i: number) => `b${i}: burrow(id: "${id}") { label }`);
  const answer = await post(`{ ${fields.join(' ')} }`);
  t.equal(statements.length, 1);
  t.equal(answer.body.data.b19.label, 'Burrow 20');
});

t.test('lists have the pages and filters of REST, and refuse what REST refuses', async t => {
  const { ask, errorsOf, database } = await buildGraphQL(t);
  await fill(database, 30, 2);
  await database.writes.rows(`update specimens set finder = replace(label, ' ', '') || '@x.org'`, []);
  t.equal((await ask('{ burrows(page: 2) { id } }')).data.burrows.length, 10, 'a page has 20 records');
  t.equal((await ask('{ burrows(page: null, limit: null) { id } }')).data.burrows.length, 30);
  const [finder, label] = ['SPECIMEN2OF3@x.org', 'Specimen 2 of 3'];
  t.same(await ask(`{ specimens(finder: "${finder}") { label } specimensCount(label: "${label}") }`), {
    data: { specimens: [{ label }], specimensCount: 1 },
  });
  t.match(await ask('{ specimens(grade: fine) { id } specimensCount(grade: rough) }'), {
    data: { specimens: [], specimensCount: 60 },
  });
  const message = 'must be a whole number from 1 to 100';
  t.match(await errorsOf('{ users(limit: 101) { id } }'), [
    { path: ['users'], extensions: { code: 'BAD_USER_INPUT', details: [{ path: '/limit', message }] } },
  ]);
});

t.test('GraphQL and REST return the same subscriptions', async t => {
  const { ask, call, database } = await buildGraphQL(t);
  const context = inside(database);
  for (const customer of ['cus_1', 'cus_2'])
    await changeSubscriptions(context, [statusEvent('active', { customer })]);
  await changeSubscriptions(context, [statusEvent('active', { customer: 'cus_2', provider: 'other' })]);

  const items = 'items { id status statusAt currentPeriodEnd cancelAtPeriodEnd }';
  const fields = `customer provider status activatedAt ${items} version createdAt updatedAt`;
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
