import t from 'tap';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import { readSettings } from '#src/config/settings.ts';
import { inTransaction } from '#src/database/write.ts';
import type { resources } from '#src/domain/resources.ts';
import { users } from '#src/domain/users.ts';
import { type Effects, type EffectsOf, openEffects } from '#src/effects/effect.ts';
import { inside } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { countRows, watchStatements } from '#test/helper/database.ts';
import { noting } from '#test/helper/events/effects.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';
import { until } from '#test/rig/process.ts';
import { burrow } from '#test/world/burrows.ts';
import { domain } from '#test/world/index.ts';
import { specimen } from '#test/world/specimens.ts';

const ofUsers = ['user.create', 'user.change', 'user.delete'];

t.test('each committed change with an effect has it, with the record as it is, and its key', async t => {
  const { seen, effects } = noting(ofUsers);
  const { call, newUser } = await buildReceiver(t, { effects });
  const user = await newUser();
  await until('the creation has had its effect', () => seen.length === 1);
  const path = `/api/users/${user.id}`;
  const query = `mutation { updateUser(id: "${user.id}", input: { name: "Grace" }) { id } }`;
  await call('POST', '/api/graphql', 200, { body: { query } });
  await until('the change has had its effect', () => seen.length === 2);
  await call('DELETE', path, 204);
  await until('the deletion has had its effect', () => seen.length === 3);
  const { id } = user;
  t.match(seen, [
    { resource: 'user', id, action: 'create', version: 1, changed: [], record: user },
    { action: 'change', version: 2, changed: ['name'], record: { name: 'Grace' } },
    { action: 'delete', version: 3, changed: [], record: null },
  ]);
  t.equal(new Set(seen.map(({ key }) => key)).size, 3);
  let data: { id: string }[] = [];
  await until('all are processed', async () => {
    ({ data } = (await call('GET', '/api/webhook-events?provider=effects&status=processed', 200)).body);
    return data.length === 3;
  });
  const events = seen.map(({ key, name }) => ({ eventId: key, type: name, customer: null }));
  t.match(data, events.toReversed());
  const { body } = (await call('GET', `/api/webhook-events/${data[2]?.id}`, 200)).body;
  const { key, name, record, ...change } = seen[0] ?? {};
  t.same(JSON.parse(body), change, 'the body is the change without its record');
});

t.test(
  'a change that is refused or rolled back has no effect, and neither has one that changes nothing',
  async t => {
    const { seen, effects } = noting(ofUsers);
    const { call, newUser, database } = await buildReceiver(t, { effects });
    const { id, email, name } = await newUser();
    await call('POST', '/api/users', 409, { body: { name: 'Grace', email } });
    await call('PATCH', `/api/users/${id}`, 412, { body: { name: 'Grace' }, headers: { 'if-match': '"9"' } });
    await call('PATCH', `/api/users/${id}`, 200, { body: { name } });
    const rolledBack = inTransaction(inside(database), async context => {
      await users.change({ ...context }, id, { name: 'Grace' });
      throw new Error('after the change');
    });
    await t.rejects(rolledBack, { message: 'after the change' });
    const last = await newUser();
    await until('the last change has had its effect', () => seen.some(each => each.id === last.id));
    t.same(
      seen.map(({ id, action }) => [id, action]),
      [
        [id, 'create'],
        [last.id, 'create'],
      ],
    );
  },
);

t.test('each record of a cascade has an effect', async t => {
  const { seen, effects } = noting(['burrow.delete', 'specimen.delete']);
  const { call, make } = await buildReceiver(t, { effects });
  const { id } = await make(burrow);
  const own = [await make(specimen, { burrowId: id }), await make(specimen, { burrowId: id })];
  await call('DELETE', `/api/burrows/${id}?cascade=true`, 204);
  await until('all have had their effect', () => seen.length === 3);
  t.same(new Set(seen.map(each => each.id)), new Set([id, ...own.map(each => each.id)]));
});

t.test('an event of a provider has the effects of the subscription that it changes', async t => {
  const { seen, effects } = noting(['subscription.create', 'subscription.change']);
  const { deliver, call, eventually } = await buildReceiver(t, { effects });
  await deliver(paymentEvent({ customer: 'cus_1' }));
  await until('the creation has had its effect', () => seen.length === 1);
  const canceled = { id: 'evt_2', type: 'customer.subscription.deleted', created: Date.now() / 1000 + 9 };
  await deliver({ ...canceled, data: { object: { id: 'sub_1', customer: 'cus_1', status: 'canceled' } } });
  await until('the change has had its effect', () => seen.length === 2);
  const id = 'stripe:cus_1';
  t.match(seen, [
    { name: 'subscription.create', id, version: 1, record: { customer: 'cus_1', status: 'active' } },
    { name: 'subscription.change', id, version: 2, record: { status: 'canceled' } },
  ]);
  await eventually('provider=effects&customer=cus_1&type=subscription.change', 'processed');
  const { data } = (await call('GET', '/api/webhook-events?customer=cus_1', 200)).body;
  t.equal(data.length, 4, 'and they are found by the customer');
});

t.test('an effect writes by the services, and what it writes has effects of its own', async t => {
  const { seen, effects } = noting(
    ['user.create', 'burrow.create'],
    async ({ name, id }, { context, key }) => {
      const burrows = domain.resources.find(({ resource }) => resource.name === 'burrow');
      if (name === 'user.create') await burrows?.create?.(context, { label: `${id} ${key}` } as never);
    },
  );
  const { call, newUser } = await buildReceiver(t, { effects });
  const user = await newUser();
  await until('both have had their effect', () => seen.length === 2);
  t.match(seen[1], { name: 'burrow.create', record: { label: `${user.id} ${seen[0]?.key}` } });
  const { data } = (await call('GET', `/api/audit?record=${seen[1]?.id}`, 200)).body;
  t.match(data, [{ actorKind: 'system', actorName: 'user.create', transport: 'job' }]);
});

t.test('an effect has the scopes read and write, a deadline, and no transaction', async t => {
  const { seen, effects } = noting(['user.create'], async (_, { context, signal }) => {
    t.same(context.actor.scopes, ['read', 'write']);
    t.notOk(context.db.isTransaction);
    t.ok((context.deadline ?? 0) - performance.now() > 25_000 && !signal.aborted);
  });
  const { newUser, eventually } = await buildReceiver(t, { effects });
  await newUser();
  await eventually('provider=effects', 'processed');
  t.equal(seen.length, 1);
});

t.test('a change without an effect sends the same statements whatever other effects there are', async t => {
  const counts = [];
  for (const effects of [{}, noting(['burrow.create']).effects]) {
    const { database, sent, written } = watchStatements((await build(t)).database);
    const { newUser, call } = await build(t, { database, domain: { ...domain, effects } });
    const { id } = await newUser();
    await call('PATCH', `/api/users/${id}`, 200, { body: { name: 'Grace' } });
    counts.push([...sent, ...written]);
    t.equal(await countRows(database.reads, webhookEvents), 0);
  }
  t.ok(
    counts[0]?.some(text => text.startsWith('update')),
    'writes are among them',
  );
  t.same(counts[1], counts[0]);
});

t.test('a name that no change has is a type error, and refused at the start', async t => {
  const right: EffectsOf<typeof resources> = {
    'user.create': async ({ record }) => record?.email.length,
    'subscription.change': async ({ record }) => record?.activatedAt,
  };
  t.ok(openEffects(right as Effects, domain.followed, () => {}));
  // @ts-expect-error A record of another resource has other members.
  const wrong: EffectsOf<typeof resources> = { 'user.create': async ({ record }) => record?.subject };
  t.ok(wrong);
  const misspelt: EffectsOf<typeof resources> = {
    // @ts-expect-error A user has no such member.
    'user.change': async ({ changed }) => changed.includes('nam'),
  };
  t.ok(misspelt);
  // @ts-expect-error There is no such change.
  const unknown: EffectsOf<typeof resources> = { 'user.created': async () => {} };
  for (const effects of [unknown as Effects, { 'subscription.delete': async () => {} }])
    await t.rejects(build(t, { domain: { ...domain, effects } }), {
      message: /No change is called/,
    });
});

t.test('effects is no name of a provider', async t => {
  const { call } = await buildReceiver(t);
  await call('POST', '/api/webhooks/effects', 404, { raw: '{}' });
  const settings = { WEBHOOK_SECRETS: JSON.stringify({ effects: ['whsec_0123456789'] }) };
  t.throws(() => readSettings(settings), { message: /'effects' is the provider of effects/ });
});
