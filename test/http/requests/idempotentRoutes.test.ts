// runs: also on embedded
import t from 'tap';
import { sql } from '#drizzle/orm.ts';
import { idempotencyKeys } from '#drizzle/tables/service/idempotencyKeys.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import { systemContext } from '#src/access/context.ts';
import { Budget } from '#src/access/limits/budget.ts';
import { newId } from '#src/core/ids.ts';
import { type Connection, orm } from '#src/database/connection.ts';
import { withIdempotencyKey } from '#src/records/idempotency.ts';
import { fingerprintOf } from '#src/webhooks/envelope.ts';
import { build } from '#test/helper/app.ts';
import { countRows, select, testLog } from '#test/helper/database.ts';
import { essence, isReplayed, keyed } from '#test/helper/events/replays.ts';
import { secret, signatureOf } from '#test/helper/events/webhooks.ts';
import { completeResources, newBody, newPerson } from '#test/helper/resources/records.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

const settings = { WEBHOOK_SECRETS: JSON.stringify({ stripe: [secret] }) };
const { app, call, newUser, make, database } = await build(t, { settings });
const stored = () => countRows(database.writes, idempotencyKeys);

const mutation = ({ name, email } = newPerson()) => ({
  query: `mutation { createUser(input: { name: "${name}", email: "${email}" }) { id } }`,
});
const graphql = (key: string, query: string, status = 200) =>
  call('POST', '/api/graphql', status, { headers: keyed(key), body: { query } });

async function storedEvent(provider: string, status: 'ignored' | 'dead' = 'ignored'): Promise<string> {
  const createdAt = new Date(Date.now() - 1000).toISOString();
  const id = newId(Date.parse(createdAt));
  const times = { createdAt, updatedAt: createdAt };
  const content = { fingerprint: fingerprintOf(id), status, body: Buffer.from('{}') };
  await orm(database.writes)
    .insert(webhookEvents)
    .values({ id, provider, preset: 'stripe', ...content, ...times });
  return id;
}

interface Sent {
  path: string;
  status: number;
  body?: object;
}
let made = 0;
/** How to make requests to each route, each with an effect of its own. */
const accepting: Record<string, () => Promise<Sent>> = {
  ...Object.fromEntries(
    completeResources.map(resource => [
      `/api/${resource.path}`,
      async () => ({ path: `/api/${resource.path}`, status: 201, body: await newBody(call, resource) }),
    ]),
  ),
  '/api/users/:user_id/identities': async () => ({
    path: `/api/users/${(await newUser()).id}/identities`,
    status: 201,
    body: { issuer: 'https://login.example.com', subject: `s${++made}` },
  }),
  '/api/batch': async () => ({
    path: '/api/batch',
    status: 200,
    body: { operations: [{ method: 'POST', path: '/api/users', body: newPerson() }] },
  }),
  '/api/graphql': async () => ({ path: '/api/graphql', status: 200, body: mutation() }),
  '/api/webhook-events/:event_id/replay': async () => ({
    path: `/api/webhook-events/${await storedEvent('stripe')}/replay`,
    status: 200,
  }),
  '/api/webhook-events/replay': async () => {
    const provider = `p${++made}`;
    await storedEvent(provider);
    return { path: '/api/webhook-events/replay', status: 200, body: { status: 'ignored', provider } };
  },
  '/api/webhook-events/:event_id/dismiss': async () => ({
    path: `/api/webhook-events/${await storedEvent('stripe', 'dead')}/dismiss`,
    status: 200,
  }),
  '/api/webhook-events/dismiss': async () => {
    const provider = `p${++made}`;
    await storedEvent(provider, 'dead');
    return { path: '/api/webhook-events/dismiss', status: 200, body: { provider } };
  },
};
/** These need a token: test/access/me.test.ts tests them. */
const acceptingToo = ['/api/me'];
const refusing = ['/api/keys'];
const ignoring = ['/api/webhooks/:provider'];
const taking = app.routes.filter(({ method, url }) => method === 'POST' && url.startsWith('/api'));

t.test('what a key does is known for every POST under /api, and documented', async t => {
  const known = [...Object.keys(accepting), ...acceptingToo, ...refusing, ...ignoring];
  // The routes of the application's actions say themselves whether they accept a key.
  const isAction = (url: string) =>
    completeResources.some(({ path }) => url.startsWith(`/api/${path}/`)) && !known.includes(url);
  t.same(taking.flatMap(({ url }) => (isAction(url) ? [] : url)).sort(), known.sort());
  // biome-ignore lint/suspicious/noExplicitAny: any part of a document
  const document = (await app.documentWriter()).swagger() as any;
  for (const { url, config } of taking) {
    const path = url.replace(/:(\w+)/g, '{$1}');
    const { parameters = [], responses } = document.paths[path].post;
    const names = parameters.map(({ $ref = '' }) => $ref.split('/').at(-1));
    const accepts = isAction(url)
      ? config?.idempotencyKey === true
      : url in accepting || acceptingToo.includes(url);
    t.equal(names.includes('IdempotencyKey'), accepts, url);
    for (const status of [409, 422]) t.ok(!accepts || status in responses, `${url} ${status}`);
  }
});

for (const [url, make] of Object.entries(accepting))
  t.test(`POST ${url} takes effect once, and refuses the key for another request`, async t => {
    const [{ path, status, ...first }, other] = [await make(), await make()];
    const send = () => call('POST', path, status, { headers: keyed(url), ...first });
    const answer = await send();
    t.notOk(isReplayed(answer));
    const again = await send();
    t.ok(isReplayed(again));
    t.same(essence(again), essence(answer));
    const { body } = await call('POST', other.path, 422, { ...other, headers: keyed(url) });
    const code = url.endsWith('graphql') ? body.errors[0].extensions.code : body.error.details.code;
    t.match(code, /^idempotency_key_reused$/i);
    t.notOk(
      isReplayed(await call('POST', other.path, other.status, { ...other, headers: keyed(`${url}2`) })),
      'it had no effect',
    );
  });

t.test('POST /api/keys refuses a key, because its response is a secret', async t => {
  const before = await stored();
  const body = { name: 'x', scopes: ['read'] };
  for (const key of ['a', '', 'ä']) {
    const { error } = (await call('POST', '/api/keys', 400, { headers: keyed(key), body })).body;
    const message = 'is not accepted here: the response is a secret, which is never stored';
    t.same(error.details, [{ in: 'header', path: '/idempotency-key', message }]);
  }
  t.same((await call('GET', '/api/keys', 200)).body.data, [], 'none was created');
  t.equal(await stored(), before);
});

t.test('webhooks, PUT, PATCH, DELETE and reads ignore a key, whatever it is', async t => {
  const before = await stored();
  const path = `/api/users/${(await newUser()).id}`;
  for (const key of ['a', 'not a key']) {
    const headers = keyed(key);
    for (const id of ['evt_1', 'evt_2']) {
      const raw = JSON.stringify({ id: `${id}${key}`, type: 'unknown' });
      const signed = { 'content-type': 'application/json', 'stripe-signature': signatureOf(raw) };
      await call('POST', '/api/webhooks/stripe', 200, { raw, headers: { ...headers, ...signed } });
    }
    for (const name of ['B', 'C']) {
      t.equal((await call('PATCH', path, 200, { headers, body: { name } })).body.name, name);
      t.equal((await call('PUT', path, 200, { headers, body: { ...newPerson(), name } })).body.name, name);
    }
    t.notOk(isReplayed(await call('GET', path, 200, { headers })));
    for (const name of ['A', 'B']) t.ok((await graphql(key, `{ users(name: "${name}") { id } }`)).body.data);
    await call('GET', '/api/graphql?query={usersCount}', 200, { headers });
  }
  await call('DELETE', path, 204, { headers: keyed('a') });
  await call('DELETE', path, 404, { headers: keyed('a') });
  const events = await select(database.writes, sql`select id from webhook_events where event_id like 'evt%'`);
  t.equal(events.length, 4);
  t.equal(await stored(), before);
});

const fieldOf = ({ name, email }: ReturnType<typeof newPerson>, directive = '') =>
  `createUser(input: { name: "${name}", email: "${email}" }) ${directive} { id }`;

t.test('an operation in GraphQL with a key has exactly one mutation', async t => {
  const [one, two] = [newPerson(), newPerson()];
  const before = await stored();
  for (const query of [
    'mutation { __typename }',
    `mutation { a: ${fieldOf(one)} b: ${fieldOf(two)} }`,
    `mutation { ...F ${fieldOf(two)} } fragment F on Mutation { a: ${fieldOf(one)} }`,
    `mutation { a: ${fieldOf(one)} b: ${fieldOf(two, '@skip(if: true)')} }`,
  ])
    t.match((await graphql('k', query)).body.errors, [
      { message: /Idempotency-Key/, extensions: { code: 'BAD_USER_INPUT' } },
    ]);
  t.equal(await stored(), before);
  const query = `mutation { __typename ...F } fragment F on Mutation { a: ${fieldOf(one)} }`;
  const first = await graphql('k', query);
  t.match(first.body, { data: { a: { id: String } } });
  t.equal((await graphql('k', query)).text, first.text);
});

t.test('an answer of more than 16 KB is answered, not kept, and its repetition says so', async t => {
  const { id: burrowId } = await make(burrow, { parentId: null });
  const add = () => make(specimen, { label: 'é'.repeat(500), burrowId });
  for (let i = 0; i < 16; i++) await add();
  const query = (label: string) =>
    `mutation { updateBurrow(id: "${burrowId}", input: { label: "${label}" }) { version specimens { label } } }`;
  const short = await graphql('short', query('Short'));
  t.ok(short.text.length < 16_384, 'in characters, as the next one');
  t.equal((await graphql('short', query('Short'))).text, short.text);
  await add();
  const long = await graphql('long', query('Long'));
  t.equal(long.body.data.updateBurrow.specimens.length, 17);
  t.ok(long.text.length < 16_384 && Buffer.byteLength(long.text) > 16_384, 'bytes count');
  const { data, errors } = (await graphql('long', query('Long'))).body;
  t.match([data, errors], [undefined, [{ extensions: { code: 'IDEMPOTENCY_ANSWER_TOO_LONG' } }]]);
  const { body } = await call('GET', `/api/burrows/${burrowId}`, 200);
  t.match(body, { label: 'Long', version: 3 }, 'and was done once');
});

t.test('an answer that is kept costs one more request for each 16 KB', async t => {
  const charged: number[] = [];
  const payer = {
    account: { name: 'test' },
    deadline: Number.POSITIVE_INFINITY,
    hasLeft: () => false,
    left: async () => 1000,
    reserve: async (points: number) => points,
    charge: async (points: number) => void charged.push(points),
    onCostly: <T>(work: (db: Connection) => Promise<T>) => work(database.costly),
  };
  const system = systemContext({ db: database.writes, log: testLog }, 'test', 'job');
  const keep = (length: number) =>
    withIdempotencyKey(
      { ...system, budget: new Budget(payer) },
      { key: `${length}`, fingerprint: '' },
      async () => ({ status: 201, location: null, body: 'é'.repeat(length / 2) }),
    );
  for (const length of [16_382, 16_384, 40_000]) await keep(length);
  await keep(40_000);
  t.same(charged, [1, 2], 'a repetition costs nothing');
});

t.test('a malformed key is a 400 that names the header, in GraphQL too', async t => {
  const { errors } = (await graphql('not a key', mutation().query, 400)).body;
  const { code, details } = errors[0].extensions;
  t.match([code, details], ['BAD_USER_INPUT', [{ path: '/idempotency-key', message: /ASCII/ }]]);
});
