import t from 'tap';
import { sql } from '#drizzle/orm.ts';
import { serviceName } from '#schemas/name.ts';
import { bearer, makeKey, openIssuer } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase, select } from '#test/helper/database.ts';
import { isReplayed, keyed } from '#test/helper/events/replays.ts';
import { newPerson } from '#test/helper/resources/records.ts';

const database = await openTestDatabase(t);
const required = { AUTH_MODE: 'required' } as const;

const someId = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';

t.test('credentials and scope are judged before a key', async t => {
  const { app, call } = await build(t, { database, settings: required });
  const none = bearer((await makeKey(database, ['read'])).key);
  const accepting = app.routes.filter(({ method, config }) => method === 'POST' && config?.idempotencyKey);
  for (const { url, config } of accepting)
    for (const key of ['a', 'not a key', '']) {
      const path = url.replace(/:\w+/g, someId);
      const headers = keyed(key);
      await call('POST', path, 401, { headers, body: {} });
      if (config?.scope !== 'read or own')
        await call('POST', path, 403, { headers: { ...headers, ...none }, body: {} });
    }
  const query = 'mutation { createUser(input: { name: "A", email: "a@example.com" }) { id } }';
  for (const key of ['a', 'not a key', '']) {
    const headers = { ...keyed(key), ...none };
    const { body } = await call('POST', '/api/graphql', 403, { headers, body: { query } });
    t.match(body.errors, [{ extensions: { code: 'FORBIDDEN', details: { scope: 'write' } } }], key);
  }
  t.same(await select(database.writes, sql`select hash from idempotency_keys`), []);
});

t.test('a caller meets own keys under any token, and never those of another', async t => {
  const [issuer, other] = [await openIssuer(t), await openIssuer(t)];
  const own = await build(t, { database, settings: issuer.settings });
  const iss = 'https://other.example';
  const settings = { ...other.settings, AUTH_ISSUER: iss };
  const elsewhere = await build(t, { database, settings });
  const keys = [await makeKey(database, ['write']), await makeKey(database, ['write'])];
  const claims = { scope: 'write', sub: keys[0]?.id ?? '' };
  const callers = [
    ...keys.map(({ key }) => [own, key] as const),
    // The subject of a token may be the id of a key.
    [own, await issuer.sign(claims)] as const,
    [own, await issuer.sign({ scope: 'write' })] as const,
    [elsewhere, await other.sign({ ...claims, iss })] as const,
  ];
  for (const [{ call }, credential] of callers) {
    const options = { headers: { ...keyed('k'), ...bearer(credential) }, body: newPerson() };
    t.notOk(isReplayed(await call('POST', '/api/users', 201, options)));
    t.ok(isReplayed(await call('POST', '/api/users', 201, options)));
  }
  const headers = { ...keyed('k'), ...bearer(await issuer.sign({ scope: 'write', jti: 'another token' })) };
  await own.call('POST', '/api/users', 422, { headers, body: newPerson() });
  const [row] = await select(database.writes, sql`select count(*)::int as total from idempotency_keys`);
  t.equal(row?.total, callers.length);
});

t.test('what is stored of a key holds no credential and not the key itself', async t => {
  const { call, database } = await build(t, { settings: required });
  const { key } = await makeKey(database, ['admin']);
  const headers = { ...keyed('order-4711'), ...bearer(key) };
  await call('POST', '/api/users', 201, { headers, body: newPerson() });
  await call('POST', '/api/keys', 400, { headers, body: { name: 'x', scopes: ['read'] } });
  const rows = await select(database.writes, sql`select * from idempotency_keys`);
  t.equal(rows.length, 1);
  t.notMatch(JSON.stringify(rows), new RegExp(`${serviceName}_|order-4711`));
});
