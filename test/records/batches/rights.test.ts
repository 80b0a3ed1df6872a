import t from 'tap';
import { asc, eq } from '#drizzle/orm.ts';
import { auditLog } from '#drizzle/tables/service/auditLog.ts';
import { orm } from '#src/database/connection.ts';
import { type Answer, build } from '#test/helper/app.ts';
import { countRows } from '#test/helper/database.ts';
import { noting } from '#test/helper/events/effects.ts';
import { keyed } from '#test/helper/events/replays.ts';
import { buildReceiver } from '#test/helper/events/webhooks.ts';
import { batch, burrows, digging } from '#test/helper/resources/batches.ts';
import { buildOwned } from '#test/helper/resources/owned.ts';
import { until } from '#test/rig/process.ts';
import { burrowTable } from '#test/world/burrows.ts';

t.test(
  'who may not write at all is refused first, and the scope of each operation before any body',
  async t => {
    const { app, call, newToken } = await buildOwned(t);
    const send = async (operations: object[], headers: Record<string, string>) => {
      const {
        statusCode,
        body,
        headers: sent,
      } = await app.inject({
        method: 'POST',
        url: '/api/batch',
        headers,
        payload: { operations },
      });
      return { status: statusCode, ...JSON.parse(body).error, challenge: sent['www-authenticate'] };
    };
    const person = await newToken(['own']);
    const reader = await newToken(['read'], false);
    const writer = await newToken(['read', 'write'], false);
    const wrong = [digging(''), { method: 'GET', path: '/' }];
    t.match(await send(wrong, {}), { status: 401 });
    t.match(await send(wrong, reader.headers), { status: 403, details: { scope: 'write' } });
    t.match(await send(wrong, person.headers), { status: 400, details: [{ path: '/operations/1/path' }] });
    // A burrow belongs to nobody, so a person may not write one.
    const theirs = { method: 'PATCH', path: `/api/users/${person.id}`, body: { name: 'Mine' } };
    const denied = await send([theirs, { ...theirs, body: {} }, digging('')], person.headers);
    t.match(denied, { status: 403, details: { code: 'forbidden', scope: 'write', operation: 2 } });
    t.match(denied.challenge, 'scope="write"');
    t.match(await send([theirs, digging('')], writer.headers), { status: 400 });
    t.equal((await call('GET', theirs.path, 200)).body.version, 1);
  },
);

t.test('a person writes what is theirs in a batch, and nothing else', async t => {
  const { app, call, newToken } = await buildOwned(t);
  const [person, other] = [await newToken(['own']), await newToken(['own'])];
  const whispering = (keeperId: string) => ({
    method: 'POST',
    path: '/api/whispers',
    body: { words: 'x', keeperId },
  });
  const send = async (...operations: object[]) => {
    const request = {
      method: 'POST',
      url: '/api/batch',
      headers: person.headers,
      payload: { operations },
    } as const;
    const { statusCode, body } = await app.inject(request);
    return { status: statusCode, ...JSON.parse(body) };
  };
  const { results } = await send(whispering(person.id), whispering(person.id));
  t.match(results, [{ status: 201, body: { keeperId: person.id } }, { status: 201 }]);
  const { body: hidden } = await call('POST', '/api/whispers', 201, { body: whispering(other.id).body });
  const own = `/api/whispers/${results[0].body.id}`;
  for (const [operation, status, details] of [
    [whispering(other.id), 403, { code: 'not_yours', path: '/keeperId' }],
    [{ method: 'DELETE', path: `/api/users/${other.id}` }, 403, { code: 'not_yours' }],
    [{ method: 'DELETE', path: `/api/whispers/${hidden.id}` }, 404, { code: 'not_found' }],
    [{ method: 'PATCH', path: own, body: { keeperId: other.id } }, 403, { path: '/keeperId' }],
  ] as const) {
    const refused = await send(whispering(person.id), operation);
    t.match(refused, { status, error: { status, details: { ...details, operation: 1 } } });
  }
  t.equal((await call('GET', '/api/whispers', 200)).body.meta.total, 3);
});

t.test('it counts as so many requests as it has operations, once its bodies are valid', async t => {
  const { call, database } = await build(t, { settings: { RATE_LIMIT_MAX: 10 } });
  const left = ({ headers }: Answer) => Number(headers['ratelimit-remaining']);
  const some = (count: number, label = 'Wide') => Array.from({ length: count }, () => digging(label));
  t.equal(left(await batch(call, 200, some(1))), 9);
  t.equal(left(await batch(call, 200, some(3))), 6);
  t.equal(left(await batch(call, 400, [...some(3), ...some(1, '')])), 5);
  const { headers } = await batch(call, 429, some(6));
  t.match(headers, { 'ratelimit-remaining': '0', 'retry-after': /^\d+$/ });
  await call('GET', burrows, 429);
  t.equal(await countRows(database.writes, burrowTable), 4, 'nothing of those that were refused');
});

t.test('an answer of any length is kept, and each 16 KB of it count', async t => {
  const { call } = await build(t, { settings: { RATE_LIMIT_MAX: 100 } });
  const operations = Array.from({ length: 50 }, () => digging('x'.repeat(200)));
  const first = await batch(call, 200, operations, keyed('long'));
  const points = 50 + Math.floor(Buffer.byteLength(first.text) / 16_384);
  t.ok(points > 50);
  t.equal(Number(first.headers['ratelimit-remaining']), 100 - points);
});

t.test('the conditions and preferences of the request itself are ignored', async t => {
  const { call } = await build(t);
  const headers = { 'if-match': '"7"', 'if-none-match': '*', prefer: 'return=minimal' };
  const answer = await batch(call, 200, [digging('Deep')], headers);
  t.match(answer.body.results, [{ status: 201, body: { label: 'Deep' } }]);
  t.notOk('preference-applied' in answer.headers);
});

t.test('each change is in the audit log with the id of the request, and in the totals', async t => {
  const { call, database } = await build(t);
  const headers = { 'x-request-id': 'batch-1' };
  const { body } = await batch(call, 200, [digging('A'), digging('B', { parentId: '$0' })], headers);
  const [a, b] = body.results.map((result: { body: { id: string } }) => result.body.id);
  const path = `${burrows}/${b}`;
  const patch = { method: 'PATCH', path, body: { label: 'C', parentId: null } };
  await batch(call, 200, [patch, { method: 'DELETE', path }], headers);
  await batch(
    call,
    409,
    [digging('D'), { method: 'PATCH', path: `${burrows}/${a}`, body: { version: 9 } }],
    headers,
  );
  const entries = orm(database.writes).select().from(auditLog).where(eq(auditLog.requestId, 'batch-1'));
  t.match(await entries.orderBy(asc(auditLog.id)), [
    { action: 'burrow.create', recordId: a, version: 1, transport: 'rest' },
    { action: 'burrow.create', recordId: b, version: 1 },
    { action: 'burrow.change', recordId: b, version: 2, changed: ['label', 'parentId'] },
    { action: 'burrow.delete', recordId: b, version: 3 },
  ]);
  t.equal((await entries).length, 4);
  t.equal((await call('GET', burrows, 200)).body.meta.total, 1);
});

t.test('effects follow each change of a batch that was committed, and no other', async t => {
  const { seen, effects } = noting(['user.create', 'user.delete']);
  const { call, newUser } = await buildReceiver(t, { effects });
  const user = await newUser();
  const operations = [
    { method: 'POST', path: '/api/users', body: { name: 'B', email: 'b@example.com' } },
    { method: 'POST', path: '/api/users', body: { name: 'C', email: 'c@example.com' } },
    { method: 'DELETE', path: `/api/users/${user.id}` },
  ];
  await batch(call, 409, [
    ...operations,
    { method: 'POST', path: '/api/users', body: { name: 'B', email: 'B@example.com' } },
  ]);
  await batch(call, 200, operations);
  await until('each had its effect', () => seen.length >= 4);
  const { body } = await call('GET', '/api/webhook-events?provider=effects&limit=100', 200);
  t.equal(body.data.length, 4);
  t.same(seen.map(({ name }) => name).toSorted(), [
    'user.create',
    'user.create',
    'user.create',
    'user.delete',
  ]);
});
