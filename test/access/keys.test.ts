// runs: in its own process
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { sql } from '#drizzle/orm.ts';
import { serviceName } from '#schemas/name.ts';
import { openKeyRing } from '#src/access/credentials/keyRing.ts';
import { orm } from '#src/database/connection.ts';
import { getKey, revokeKey } from '#src/people/apiKeys.ts';
import { bearer, inside, makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase, watchStatements } from '#test/helper/database.ts';
import { until } from '#test/rig/process.ts';

const required = { AUTH_MODE: 'required' } as const;

t.test('a key is created, shown once, used and revoked', async t => {
  const { app, call, database } = await build(t, { settings: required });
  const headers = bearer((await makeKey(database, ['admin'])).key);
  const body = { name: 'importer', scopes: ['write'], expiresAt: '2099-01-01T00:00:00+01:00' };
  const created = await call('POST', '/api/keys', 201, { headers, body });
  t.match(created.body, {
    ...body,
    expiresAt: '2098-12-31T23:00:00.000Z',
    lastUsedAt: null,
    revokedAt: null,
  });
  t.match(created.body.key, new RegExp(`^${serviceName}_`));
  t.equal(created.headers['cache-control'], 'no-store');
  const { key, ...record } = created.body;

  t.same((await call('GET', created.headers.location ?? '', 200, { headers })).body, record);
  const list = await call('GET', '/api/keys?name=importer', 200, { headers });
  t.same(list.body.data, [record], 'neither the secret nor its hash is in a list');
  const stored = await orm(database.writes).execute(sql`select * from api_keys`);
  t.notOk(JSON.stringify(stored).includes(key.slice(-49)), 'the database does not hold the secret');

  await call('POST', '/api/users', 201, { headers: bearer(key), body: { name: 'A', email: 'a@b.example' } });
  await call('DELETE', `/api/keys/${record.id}`, 204, { headers });
  const refused = await call('GET', '/api/users', 401, { headers: bearer(key) });
  t.match(refused.body.error, { message: 'The API key was revoked.', details: { reason: 'invalid_token' } });
  t.match((await call('GET', `/api/keys/${record.id}`, 200, { headers })).body.revokedAt, /Z$/);
  await call('DELETE', `/api/keys/${record.id}`, 204, { headers });
  await call('DELETE', '/api/keys/nothing', 404, { headers });
  t.equal((await app.inject({ url: '/api/users', headers })).headers['cache-control'], 'private, no-cache');
});

t.test('a key with an invalid expiry or invalid scopes is refused', async t => {
  const { call } = await build(t);
  const times = ['2001-01-01T00:00:00Z', '2016-12-31T23:59:60Z', '9999-12-31T23:59:59-14:00', 'soon'];
  const scopes = [[], ['read', 'root'], ['read', 'read']];
  for (const wrong of [...times.map(expiresAt => ({ expiresAt })), ...scopes.map(scopes => ({ scopes }))])
    await call('POST', '/api/keys', 400, { body: { name: 'x', scopes: ['read'], ...wrong } });
});

t.test('a key that is revoked, or deleted in the database, is refused within five seconds', async t => {
  const { app, call, database } = await build(t, { settings: required });
  const keys = [await makeKey(database, ['read']), await makeKey(database, ['read'])] as const;
  for (const { key } of keys) await call('GET', '/api/users', 200, { headers: bearer(key) });
  await revokeKey(inside(database), keys[0].id);
  await orm(database.writes).execute(sql`delete from api_keys where id = ${keys[1].id}`);
  const revoked = Date.now();
  for (const { key } of keys) {
    // Constant use must not keep a revoked key alive.
    const send = () => app.inject({ url: '/api/users', headers: bearer(key) });
    while ((await send()).statusCode === 200 && Date.now() - revoked < 6000) await sleep(20);
  }
  t.ok(Date.now() - revoked < 5000, `${Date.now() - revoked} ms`);
});

t.test('a known key costs no query, and its use is written once a minute', async t => {
  const database = await openTestDatabase(t);
  const { id, key } = await makeKey(database, ['read']);
  let time = Date.now();
  const { database: watched, sent } = watchStatements(database);
  const gate = Promise.withResolvers<void>();
  const { rows } = watched.reads;
  const reads = {
    ...watched.reads,
    rows: (...query: Parameters<typeof rows>) => gate.promise.then(() => rows(...query)),
  };
  const ring = openKeyRing({ database: { ...watched, reads }, now: () => new Date(time) });
  const lastUse = async () => (await getKey(inside(database), id)).lastUsedAt;
  t.equal(ring.recall(key), undefined);
  const requests = [ring.find(key), ring.find(key)];
  // Waits until the query of the first two requests is held by the gate.
  await sleep(150);
  requests.push(ring.find(key));
  gate.resolve();
  await Promise.all(requests);
  t.equal(sent.length, 1, 'requests share the query of a key, even while it waits for a lock');
  for (let i = 0; i < 1000; i++) ring.recall(key);
  t.equal(sent.length, 1);
  const first = new Date(time).toISOString();
  await until('the use is written', async () => (await lastUse()) === first);

  await sleep(2100);
  t.match(ring.recall(key), { kind: 'key' }, 'nobody waits while it is read again');
  await until('the key is read again', () => sent.length > 1);
  time += 59_000;
  await ring.find(key);
  t.equal(await lastUse(), first, 'within a minute it is not written again');
  time += 2000;
  ring.recall(key);
  const second = new Date(time).toISOString();
  await until('the use is written', async () => (await lastUse()) === second);
});

t.test('a revoked key is refused at once where it was revoked, also while it is being read', async t => {
  const database = await openTestDatabase(t);
  const { id, key } = await makeKey(database, ['read']);
  const gate = Promise.withResolvers<void>();
  const { rows } = database.reads;
  const reads = {
    ...database.reads,
    rows: async (...query: Parameters<typeof rows>) => {
      const found = await rows(...query);
      await gate.promise;
      return found;
    },
  };
  const ring = openKeyRing({ database: { ...database, reads }, now: () => new Date() });
  const before = ring.find(key);
  await sleep(100);
  await revokeKey(inside(database), id);
  const after = ring.find(key);
  gate.resolve();
  for (const request of [before, after]) await t.rejects(request, { message: 'The API key was revoked.' });
});

t.test('without a database an unknown key gets 503, not 401', async t => {
  const database = await openTestDatabase(t);
  const { key } = await makeKey(database, ['read']);
  let available = true;
  const { call } = await build(t, {
    settings: required,
    database: { ...database, available: () => available },
  });
  await call('GET', '/api/users', 200, { headers: bearer(key) });
  available = false;
  const { body } = await call('GET', '/api/users', 503, {
    headers: bearer((await makeKey(database, ['read'])).key),
  });
  t.match(body.error, { details: { code: 'unavailable' } });
});
