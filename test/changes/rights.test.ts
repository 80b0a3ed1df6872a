// runs: long
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { sql } from '#drizzle/orm.ts';
import { makeToken } from '#src/access/credentials/apiKeyToken.ts';
import { newId } from '#src/core/ids.ts';
import { orm } from '#src/database/connection.ts';
import { bearer, makeKey, openIssuer, seconds } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { openFeed } from '#test/helper/eventStream.ts';

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
  for (const query of ['?resource=subscription', '?resource=subscription&customer=cus_1'])
    t.equal((await follow(query, bearer(key))).response.status, 403, query);
});

const endsInTime = (ended: Promise<void> | undefined) =>
  Promise.race([ended?.then(() => true), sleep(10_000, false, { ref: false })]);

t.test('checks of a stream are no guesses: bug: it outlived its key where others had guessed', async t => {
  const issuer = await openIssuer(t);
  const settings = { ...issuer.settings, RATE_LIMIT_MAX: 5 };
  const database = await openTestDatabase(t);
  const { follow, call, app } = await openFeed(t, { database, settings });
  const { newUser } = await build(t, { database });
  const { next, ended } = await follow('', bearer(await issuer.sign({ scope: 'own' })));
  await next(1, () => true);
  for (const status of [401, 401, 401, 401, 429])
    await call('GET', '/api/users', status, { headers: bearer(makeToken(newId(Date.now()))) });
  // Leaves time for two checks, and for the issuer to be asked again.
  await sleep(7000);
  const { id } = await newUser();
  t.equal((await next(1))[0]?.data?.id, id, 'it goes on');
  await issuer.rotate('second');
  const headers = bearer(await issuer.sign());
  const elsewhere = await app.inject({ url: '/api/users', headers, remoteAddress: '192.0.2.1' });
  t.equal(elsewhere.statusCode, 200, 'the first key is withdrawn');
  t.ok(await endsInTime(ended));
});

t.test('a stream goes on while the database is away, and ends after two other failures to look', async t => {
  const issuer = await openIssuer(t);
  const database = await openTestDatabase(t);
  const hide = (hidden = true) =>
    orm(database.writes).execute(
      hidden ? sql`alter table identities rename to hidden` : sql`alter table hidden rename to identities`,
    );
  let isAway = false;
  const leaving = { ...database, available: () => !isAway && database.available() };
  const { follow } = await openFeed(t, { database: leaving, settings: issuer.settings });
  const { newUser } = await build(t, { database });
  const { next, received, ended } = await follow('', bearer(await issuer.sign({ scope: 'own' })));
  await next(1, () => true);
  // Makes one check fail, the one after 3 s.
  await sleep(1500);
  await hide();
  await sleep(3000);
  await hide(false);
  isAway = true;
  await sleep(7000);
  isAway = false;
  const { id } = await newUser();
  t.equal((await next(1))[0]?.data?.id, id, 'it goes on');
  await hide();
  t.ok(await endsInTime(ended));
  t.ok(received.at(-1)?.retry, 'its client comes back, and learns why');
});
