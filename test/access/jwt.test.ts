import type { JWTPayload } from 'jose';
import t from 'tap';
import { openTokenVerifier } from '../../src/access/jwt.ts';
import { bearer, openIssuer, seconds } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { openTestDatabase, testLog } from '../helper/database.ts';

t.test('keys rotate without a restart, and tokens of a withdrawn key are refused', async t => {
  const { settings, ...issuer } = await openIssuer(t);
  const check = openTokenVerifier(settings, { log: testLog, database: await openTestDatabase(t) });
  t.teardown(() => check.close());
  await check.readKeys();
  const old = await issuer.sign();
  t.match(await check.find(old), { kind: 'token', id: 'someone', scopes: ['read'] });
  t.match(check.recall(old), { id: 'someone' }, 'a checked token is not checked again at once');
  await issuer.rotate('second');
  await check.readKeys();
  const recalled = Promise.resolve(check.recall(old));
  await t.rejects(recalled, { code: 'unauthenticated' }, 'after a rotation every token is checked again');
  t.equal(check.recall(old), undefined);
  t.match(await check.find(await issuer.sign()), { id: 'someone' });
});

t.test('known keys are not read for each token, and keep working while the issuer is down', async t => {
  const { settings, ...issuer } = await openIssuer(t);
  const { app, call } = await build(t, { settings });
  await call('GET', '/api/users', 200, { headers: bearer(await issuer.sign()) });
  const readBefore = issuer.reads();
  issuer.goAway(true);
  await call('GET', '/api/users', 200, { headers: bearer(await issuer.sign({ sub: 'another' })) });
  t.equal(issuer.reads(), readBefore);
  t.equal((await app.inject({ url: '/api/users' })).statusCode, 401);
});

t.test('tokens get 503 until the keys of the issuer have been read', async t => {
  const { settings, ...issuer } = await openIssuer(t);
  issuer.goAway(true);
  const { call } = await build(t, { settings });
  const headers = bearer(await issuer.sign());
  t.equal((await call('GET', '/api/users', 503, { headers })).headers['retry-after'], '1');
  issuer.goAway(false);
  await call('GET', '/api/users', 200, { headers });
});

t.test('tokens with unusable claims or an unknown key are refused', async t => {
  const { settings, ...issuer } = await openIssuer(t, 'RS256');
  const { call } = await build(t, { settings });
  const refuse = async (claims: JWTPayload, header: object = {}) =>
    call('GET', '/api/users', 401, { headers: bearer(await issuer.sign(claims, header)) });
  await call('GET', '/api/users', 200, { headers: bearer(await issuer.sign({ nbf: seconds(20) })) });
  await refuse({ nbf: seconds(120) });
  await refuse({ sub: `nul${'\u0000'}` });
  await refuse({ sub: 'x'.repeat(256) });
  await refuse({}, { kid: 'unknown' });
  t.match((await refuse({ exp: seconds(-3600) })).body.error.message, 'expired');
});
