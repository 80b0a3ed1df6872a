// runs: long
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient as createSseClient } from 'graphql-sse';
import { type Client, createClient as createSocketClient } from 'graphql-ws';
import t, { type Test } from 'tap';
import { bearer, makeKey, seconds } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { listen, openEvents, openFeed } from '#test/helper/eventStream.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test looks into results of every shape
type Result = any;
type Subscriber = Pick<Client, 'subscribe'>;
const transports = ['events', 'socket'] as const;

/** The official client of each transport. */
function clientOf(t: Test, transport: (typeof transports)[number], url: string, key?: string): Subscriber {
  const retry = { retryAttempts: 0 };
  const socketUrl = `${url.replace('http', 'ws')}/api/graphql`;
  const client =
    transport === 'events'
      ? createSseClient({ url: `${url}/api/graphql`, ...retry, ...(key && { headers: bearer(key) }) })
      : createSocketClient({ url: socketUrl, ...retry, ...(key && { connectionParams: bearer(key) }) });
  t.teardown(() => void client.dispose());
  return client as Subscriber;
}

/** Collects what a client gets for an operation. */
function collect(client: Subscriber, query: string, variables: Record<string, unknown> = {}) {
  const results: Result[] = [];
  let outcome: unknown;
  const stop = client.subscribe(
    { query, variables },
    {
      next: result => results.push(result),
      error: error => (outcome = error),
      complete: () => (outcome = 'complete'),
    },
  );
  const until = async (isThere: () => boolean) => {
    for (const end = Date.now() + 10_000; !isThere() && Date.now() < end; ) await sleep(5);
  };
  return {
    results,
    stop,
    next: async (amount: number): Promise<Result[]> => {
      await until(() => results.length >= amount);
      return results.splice(0, amount);
    },
    end: async () => {
      await until(() => outcome !== undefined);
      return outcome as Result;
    },
  };
}

/** A position before all that a test does, so that it does not matter when a subscription begins. */
async function positionNow(t: Test, url: string, headers = {}) {
  const [first] = await (await openEvents(t, `${url}/api/changes`, { headers })).next(1, () => true);
  return { after: first?.id ?? '' };
}
const specimens = `subscription ($after: String, $burrow: ID, $grade: SpecimenGrade) {
  specimenChanged(after: $after, burrow: $burrow, grade: $grade) {
    action id version changed at cursor specimen { label burrow { label } }
  }
}`;

for (const transport of transports)
  t.test(`${transport}: each change of a record is a result, with what the client selects of it`, async t => {
    const { url, call, make } = await openFeed(t);
    const client = clientOf(t, transport, url);
    const oak = await make(burrow);
    const now = await positionNow(t, url);
    const all = collect(client, specimens, now);
    const ofNone = collect(client, specimens, { ...now, burrow: '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90' });
    const fair = collect(client, specimens, { ...now, grade: 'fair' });
    const query = `subscription ($after: String) {
      b: burrowChanged(after: $after) { action ... on BurrowChange { burrow { id } } }
    }`;
    const burrows = collect(client, query, now);
    const { id, label } = await make(specimen, { burrowId: oak.id, grade: 'rough' });
    const path = `/api/specimens/${id}`;
    const [created] = await all.next(1);
    const { at, cursor } = created.data.specimenChanged;
    const told = { action: 'create', id, version: 1, changed: [], at, cursor };
    const record = { label, burrow: { label: oak.label } };
    t.same(created, { data: { specimenChanged: { ...told, specimen: record } } });
    for (const grade of ['fair', 'rough']) await call('PATCH', path, 200, { body: { grade } });
    await call('DELETE', path, 204);
    await call('PATCH', `/api/burrows/${oak.id}`, 200, { body: { label: 'Oak' } });
    const versions = async ({ next }: typeof all, amount: number) =>
      (await next(amount)).map(({ data: { specimenChanged: is } }) => `${is.action} ${is.version}`);
    t.same(await versions(all, 3), ['change 2', 'change 3', 'delete 4']);
    t.same(await versions(fair, 2), ['change 2', 'change 3'], 'what enters and what leaves');
    t.same(await burrows.next(1), [{ data: { b: { action: 'change', burrow: { id: oak.id } } } }]);
    t.same(ofNone.results, []);

    const resumed = collect(client, specimens, { after: cursor });
    t.same(await versions(resumed, 3), ['change 2', 'change 3', 'delete 4']);
    const events = await openEvents(t, `${url}/api/changes?after=${cursor}`);
    t.match(await events.next(3), [
      { data: { version: 2 } },
      { data: { version: 3 } },
      { event: 'specimen.delete' },
    ]);
    resumed.stop();
    t.equal(await resumed.end(), 'complete');
  });

t.test('a record that goes with its parent, after it was read for an event, is null', async t => {
  const { url, call, database, make } = await openFeed(t);
  const { id, burrowId } = await make(specimen);
  const changes = collect(clientOf(t, 'socket', url), specimens, await positionNow(t, url));
  await database.writes.transaction(async tx => {
    await tx.rows('set local session_replication_role = replica', []);
    await tx.rows('delete from burrows where id = $1', [burrowId]);
  });
  await call('PATCH', `/api/specimens/${id}`, 200, { body: { label: 'As it was read' } });
  const [{ data, errors }] = await changes.next(1);
  t.match(data.specimenChanged, { action: 'change', id, version: 2, specimen: null });
  t.equal(errors, undefined);
});

for (const transport of transports)
  t.test(`${transport}: what is refused says why`, async t => {
    const { url, call } = await openFeed(t, { settings: { GRAPHQL_MAX_DEPTH: 4 } });
    const client = clientOf(t, transport, url);
    const query = collect(client, '{ usersCount __schema { description } }');
    const byHttp = [{ message: /Send this operation by HTTP/, extensions: { code: 'BAD_USER_INPUT' } }];
    t.match(await query.end(), transport === 'events' ? 'complete' : byHttp);
    t.match(query.results, transport === 'events' ? [{ data: { usersCount: 0 } }] : []);
    const refused = {
      'subscription { nope }': 'GRAPHQL_VALIDATION_FAILED',
      'subscription { userChanged { id } burrowChanged { id } }': 'GRAPHQL_VALIDATION_FAILED',
      'subscription { userChanged @skip(if: true) { id } }': 'GRAPHQL_VALIDATION_FAILED',
      'subscription { ...F } fragment F on Subscription { userChanged { id } }': 'GRAPHQL_VALIDATION_FAILED',
      'subscription {': 'GRAPHQL_PARSE_FAILED',
      'subscription { burrowChanged { burrow { burrows { parent { id } } } } }': 'DEPTH_LIMIT_EXCEEDED',
      'subscription { specimenChanged(grade: nope) { id } }': 'GRAPHQL_VALIDATION_FAILED',
      'subscription { specimenChanged(burrow: "x") { id } }': 'BAD_USER_INPUT',
      'subscription { customerSubscriptionChanged(customer: "") { id } }': 'BAD_USER_INPUT',
      'subscription { burrowChanged(after: "x") { id } }': 'BAD_USER_INPUT',
      'subscription { burrowChanged(after: "") { id } }': 'BAD_USER_INPUT',
      'subscription { burrowChanged(after: "7.019aa5d0-0001-7000-8000-000000000001") { id } }': 'GONE',
    };
    for (const [text, code] of Object.entries(refused)) {
      const operation = collect(client, text);
      const outcome = await operation.end();
      const errors = outcome === 'complete' ? operation.results[0].errors : outcome;
      t.match(errors, [{ message: /\w/, extensions: { code, requestId: /\w/ } }], text);
    }
    const mutation = 'mutation { createUser(input: { name: "Ada", email: "ada@example.com" }) { id } }';
    const sent = { body: { query: 'subscription { userChanged { id } }' } };
    const { body } = await call('POST', '/api/graphql', 200, sent);
    t.match(body.errors, [{ message: /text\/event-stream/ }]);
    if (transport === 'events') return;
    t.match(await collect(client, mutation).end(), byHttp);
    t.equal((await call('GET', '/api/users', 200)).body.meta.total, 0);
  });

for (const transport of transports)
  t.test(`${transport}: a subscription needs the rights of a query, and ends with them`, async t => {
    const database = await openTestDatabase(t);
    const { url } = await openFeed(t, { database, settings: { AUTH_MODE: 'required', MAX_IN_FLIGHT: 30 } });
    const { call, newUser } = await build(t, { database });
    const [{ key: own }, read] = [
      await makeKey(database, ['own'], { userId: (await newUser()).id }),
      await makeKey(database, ['read']),
    ];
    const nobody = await collect(clientOf(t, transport, url), specimens).end();
    t.match(
      nobody,
      transport === 'events' ? { response: { status: 401 } } : { code: 4403, reason: 'Forbidden' },
    );
    t.match(await collect(clientOf(t, transport, url, 'nonsense'), specimens).end(), nobody);
    const theirs = collect(
      clientOf(t, transport, url, own),
      'subscription { customerSubscriptionChanged { id } }',
    );
    const outcome = await theirs.end();
    t.match(outcome === 'complete' ? theirs.results[0].errors : outcome, [
      { extensions: { code: 'FORBIDDEN' } },
    ]);

    const client = clientOf(t, transport, url, read.key);
    const now = await positionNow(t, url, bearer(read.key));
    const query = 'subscription ($after: String) { userChanged(after: $after) { id } }';
    const [users, same] = [collect(client, query, now), collect(client, query, now)];
    const { id: first } = await newUser();
    for (const { next } of [users, same]) t.same(await next(1), [{ data: { userChanged: { id: first } } }]);
    const oneMore = await collect(client, specimens).end();
    t.match(
      oneMore,
      transport === 'events' ? { response: { status: 429 } } : [{ extensions: { code: 'RATE_LIMITED' } }],
    );
    const { id } = await newUser();
    t.same(await users.next(1), [{ data: { userChanged: { id } } }]);
    await call('DELETE', `/api/keys/${read.id}`, 204);
    t.match(await users.end(), transport === 'events' ? { message: /Connection closed/ } : { code: 4403 });
  });

for (const transport of transports)
  t.test(`hostile: ${transport}: results with longer lists than estimated count, and end`, async t => {
    const { url, call, make } = await openFeed(t, { settings: { RATE_LIMIT_MAX: 50 } });
    const { id: parentId } = await make(burrow);
    for (let i = 0; i < 30; i++) await make(burrow, { parentId });
    const query = `subscription ($after: String) {
      burrowChanged(after: $after) { burrow { burrows { parent { burrows { id } } } } } }`;
    const { next, end } = collect(clientOf(t, transport, url), query, await positionNow(t, url));
    for (const label of ['First', 'Second']) {
      await call('PATCH', `/api/burrows/${parentId}`, 200, { body: { label } });
      t.match(await next(1), [{ data: { burrowChanged: {} } }], label);
    }
    const limited = [{ extensions: { code: 'RATE_LIMITED' } }];
    t.match(await end(), transport === 'events' ? { name: 'NetworkError' } : limited);
    await call('GET', '/api/burrows', 429);
  });

t.test("a customer's subscription is created by its first event and changed by later ones", async t => {
  const service = await buildReceiver(t);
  const { url, follow } = await listen(t, service);
  const query = `subscription ($customer: ID, $after: String) {
    customerSubscriptionChanged(customer: $customer, after: $after) { action id version subscription { customer items { id status } } }
  }`;
  const variables = { ...(await positionNow(t, url)), customer: 'cus_2' };
  const changes = collect(clientOf(t, 'socket', url), query, variables);
  const stream = await follow(`?resource=subscription&customer=cus_2&after=${variables.after}`);
  for (const customer of ['cus_1', 'cus_2'])
    await service.deliver(paymentEvent({ id: `evt_${customer}`, customer }));
  const [created] = await stream.next(1);
  const { body: record } = await service.call('GET', '/api/subscriptions/cus_2', 200);
  t.match(created, { event: 'subscription.create' });
  const told = { resource: 'subscription', id: 'stripe:cus_2', action: 'create', version: 1, changed: [] };
  t.same(created?.data, { ...told, at: created?.data.at, record });
  const { id, action, version } = told;
  const subscription = { customer: 'cus_2', items: [{ id: null, status: 'active' }] };
  t.same(await changes.next(1), [
    { data: { customerSubscriptionChanged: { action, id, version, subscription } } },
  ]);
  const object = { id: 'sub_1', customer: 'cus_2', status: 'canceled' };
  const type = 'customer.subscription.deleted';
  await service.deliver({ id: 'evt', type, created: seconds(0), data: { object } });
  const [changed] = await stream.next(1);
  t.match(changed, { event: 'subscription.change', data: { version: 2, record: { status: 'canceled' } } });
  t.same(changed?.data.changed, ['items', 'status']);
});
