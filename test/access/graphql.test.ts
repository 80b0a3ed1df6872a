import t from 'tap';
import { bearer, makeKey, openIssuer } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { fill } from '#test/helper/graphql.ts';

t.test('each forbidden field fails by itself and names the scope it needs', async t => {
  const { call, database } = await build(t, { settings: { AUTH_MODE: 'required' } });
  const headers = bearer((await makeKey(database, ['read'])).key);
  // The scope is checked before the input, which is invalid.
  const query = `mutation { one: createUser(input: { name: "", email: "a@b.example" }) { id } two: deleteBurrow(id: "x") }`;
  const { body } = await call('POST', '/api/graphql', 200, { headers, body: { query } });
  t.same(body.data, { one: null, two: null });
  t.match(body.errors, [
    { path: ['one'], extensions: { code: 'FORBIDDEN', details: { scope: 'write' } } },
    { path: ['two'], extensions: { code: 'FORBIDDEN' } },
  ]);
});

t.test('a token without any scope gets 403 for the whole request', async t => {
  const issuer = await openIssuer(t);
  const { call } = await build(t, { settings: issuer.settings });
  const headers = bearer(await issuer.sign({ scope: 'openid' }));
  const { body, headers: answer } = await call('POST', '/api/graphql', 403, {
    headers,
    body: { query: '{ usersCount }' },
  });
  t.match(body.errors, [{ extensions: { code: 'FORBIDDEN', details: { scope: 'read' } } }]);
  t.match(answer['www-authenticate'], 'scope="read"');
});

t.test('a GraphQL request is charged for as many requests as REST would need', async t => {
  const database = await openTestDatabase(t);
  await fill(database, 300, 2);
  const { app } = await build(t, { database, settings: { RATE_LIMIT_MAX: 100 } });
  let left = 100;
  async function price(query: string, status = 200) {
    const reply = await app.inject({ method: 'POST', url: '/api/graphql', payload: { query } });
    t.equal(reply.statusCode, status, query);
    const before = left;
    left = Number(reply.headers['ratelimit-remaining']);
    return { paid: before - left, body: reply.json() };
  }
  t.equal((await price('{ usersCount }')).paid, 1);
  t.equal(
    (await price('{ a: usersCount b: usersCount ...F } fragment F on Query { c: usersCount }')).paid,
    3,
  );
  t.equal((await price('{ burrows(limit: 100) { id } }')).paid, 1, 'a page is one request');
  t.equal((await price('{ burrows(limit: 100) { id } specimens(limit: 100) { burrow { label } } }')).paid, 3);
  t.equal(
    (await price('{ burrows { id } }')).paid,
    3,
    'the charge is for what was read, not for the estimate',
  );
  t.equal((await price('{ burrows { specimens { id } } }')).paid, 9);
  t.equal((await price('mutation { a: deleteBurrow(id: "x") b: deleteBurrow(id: "y") }')).paid, 2);
  const many = Array.from({ length: 30 }, (_, i) => `a${i}: usersCount`).join(' ');
  for (let i = 0; i < 2; i++) t.equal((await price(`{ ${many} }`)).paid, 30);
  t.equal(left, 18);
  const { body } = await price(`{ ${many} }`, 429);
  t.match(body, { errors: [{ extensions: { code: 'RATE_LIMITED', details: { retryAfter: Number } } }] });
  t.notOk('data' in body);
});
