import t from 'tap';
import { bearer, makeKey, openIssuer, seconds } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { openTestDatabase } from '../helper/database.ts';
import { openFeed } from '../helper/eventStream.ts';

t.test('a stream ends with the key or the token that opened it', async t => {
  const database = await openTestDatabase(t);
  const issuer = await openIssuer(t);
  const { follow } = await openFeed(t, { database, settings: issuer.settings });
  const { call, newUser } = await build(t, { database });
  const [revoked, kept] = [await makeKey(database, ['read']), await makeKey(database, ['read'])];
  const token = await issuer.sign({ exp: seconds(3) });
  const open = (credential: string) => follow('', bearer(credential));
  const streams = [await open(revoked.key), await open(token)];
  const [lasting, { response: refused }] = [await open(kept.key), await follow()];
  t.equal(refused.status, 401);
  t.equal((await follow('', bearer('nonsense'))).response.status, 401);
  const began = performance.now();
  await call('DELETE', `/api/keys/${revoked.id}`, 204);
  await Promise.all(streams.map(({ ended }) => ended));
  t.ok(performance.now() - began < 10_000);
  const { id } = await newUser();
  t.equal((await lasting.next(1))[0]?.data.id, id, 'another one goes on');
  t.same(
    streams.map(({ received }) => received.filter(({ data }) => data)),
    [[], []],
  );
});

t.test('with own, everything public can be followed, and no subscription', async t => {
  const database = await openTestDatabase(t);
  const { follow } = await openFeed(t, { database, settings: { AUTH_MODE: 'required' } });
  const { newUser } = await build(t, { database });
  const { id: userId } = await newUser();
  const { key } = await makeKey(database, ['own'], { userId });
  const { next } = await follow('', bearer(key));
  await next(1, () => true);
  const { id } = await newUser();
  t.equal((await next(1))[0]?.data.id, id);
  for (const query of ['?resource=subscription', '?customer=cus_1'])
    t.equal((await follow(query, bearer(key))).response.status, 403, query);
});
