import t from 'tap';
import { bearer, makeKey, makeUser, openIssuer } from '#test/helper/access.ts';
import { type Answer, build, type Call } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { keyed } from '#test/helper/events/replays.ts';
import { newPerson } from '#test/helper/resources/records.ts';

const database = await openTestDatabase(t);
const issuer = await openIssuer(t);
const { settings } = issuer;
const { call: ask } = await build(t, { database, settings });
/** Sends requests to an open service, where everybody is an administrator. */
const { call } = await build(t, { database });

let made = 0;
async function newToken(scope = 'own') {
  const subject = `login|${++made}`;
  const headers = bearer(await issuer.sign({ sub: subject, scope }));
  const send = (method: string, path: string, status: number, options: Call = {}) =>
    ask(method, path, status, { ...options, headers: { ...headers, ...options.headers } });
  return { subject, headers, send };
}
const codeOf = ({ body }: Answer) => body.error.details.code;
const identity = (subject: string) => ({ issuer: settings.AUTH_ISSUER, subject });
const lastEntry = async (record: string) =>
  (await call('GET', `/api/audit?record=${record}`, 200)).body.data[0];

t.test('a token registers its user, who is known at once and may write what is theirs', async t => {
  const { subject, send } = await newToken();
  t.match((await send('GET', '/api/me', 404)).body.error.details, { code: 'no_person' });
  t.match((await send('POST', '/api/me', 400, { body: { name: '' } })).body.error.details, [{ in: 'body' }]);
  const body = newPerson();
  const registered = await send('POST', '/api/me', 201, { body, headers: keyed('register') });
  const { id } = registered.body;
  t.match(registered, { headers: { location: `/api/users/${id}`, etag: '"1"' }, body });
  const me = await send('GET', '/api/me', 200);
  t.same(me.body, (await call('GET', `/api/users/${id}`, 200)).body);
  t.equal(me.headers.etag, '"1"');
  await send('GET', '/api/me', 304, { headers: { 'if-none-match': '"1"' } });
  await send('HEAD', '/api/me', 200);
  const again = await send('POST', '/api/me', 201, { body, headers: keyed('register') });
  t.same([again.body, again.headers['idempotency-replayed']], [registered.body, 'true']);
  const { error } = (await send('POST', '/api/me', 409, { body: newPerson() })).body;
  t.same(error.details, { code: 'person_exists', id });
  const entry = { action: 'user.create', actorKind: 'token', actorId: subject, details: { person: id } };
  t.match(await lastEntry(id), entry);
  const whisper = (await send('POST', '/api/whispers', 201, { body: { words: 'Mine', keeperId: id } })).body;
  t.match(await lastEntry(whisper.id), { ...entry, action: 'whisper.create' });
  t.same((await call('GET', `/api/users/${id}/identities`, 200)).body.data.map(nameOf), [identity(subject)]);
});

const nameOf = ({ issuer, subject }: { issuer: string; subject: string }) => ({ issuer, subject });

t.test('an address proves nothing, and a person that exists is told before it', async t => {
  const { send } = await newToken();
  const { email } = await makeUser(database);
  const body = { name: 'Mallory', email };
  t.equal(codeOf(await send('POST', '/api/me', 409, { body })), 'email_taken');
  await send('GET', '/api/me', 404);
  await send('POST', '/api/me', 201, { body: newPerson() });
  t.equal(codeOf(await send('POST', '/api/me', 409, { body })), 'person_exists');
});

t.test('who is no person has no `/api/me`, and a key cannot register', async t => {
  const { send: sendAsAdmin } = await newToken('admin');
  for (const [method, options] of Object.entries({ GET: {}, POST: { body: newPerson() } }))
    t.match(await sendAsAdmin(method, '/api/me', 403, options), {
      body: { error: { details: { code: 'forbidden', scope: 'own' } } },
      headers: { 'www-authenticate': /scope="own"/ },
    });
  t.match((await call('GET', '/api/me', 403)).body.error.details, { code: 'forbidden', scope: 'own' });
  const { id: userId } = await makeUser(database);
  const { key } = await makeKey(database, ['own'], { userId });
  t.equal((await ask('GET', '/api/me', 200, { headers: bearer(key) })).body.id, userId);
  const refused = await ask('POST', '/api/me', 403, { headers: bearer(key), body: newPerson() });
  t.equal(codeOf(refused), 'forbidden');
  const { subject, send } = await newToken('write own');
  await call('POST', `/api/users/${userId}/identities`, 201, { body: identity(subject) });
  t.equal((await send('GET', '/api/me', 200)).body.id, userId);
});

t.test('a key with `own` has a user, and no other has one', async t => {
  const userId = (await makeUser(database)).id;
  const create = (status: number, body: object) =>
    call('POST', '/api/keys', status, { body: { name: 'phone', ...body } });
  for (const body of [
    { scopes: ['own'] },
    { scopes: ['own'], userId: '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90' },
    { scopes: ['own'], userId: 'x' },
    { scopes: ['read'], userId },
  ])
    t.match((await create(400, body)).body.error.details, [{ in: 'body', path: '/userId' }]);
  const { body: key } = await create(201, { scopes: ['own'], userId });
  t.equal(key.userId, userId);
  t.match((await call('GET', `/api/keys/${key.id}`, 200)).body, { userId, scopes: ['own'] });
  t.equal((await create(201, { scopes: ['read'] })).body.userId, null);
});

t.test('a deleted user takes identities along and ends keys, and the token may register again', async t => {
  const { send, subject } = await newToken();
  const { id } = (await send('POST', '/api/me', 201, { body: newPerson() })).body;
  const key = await makeKey(database, ['own'], { userId: id });
  await ask('GET', '/api/me', 200, { headers: bearer(key.key) });
  await send('POST', '/api/whispers', 201, { body: { words: 'Mine', keeperId: id } });
  t.equal(codeOf(await send('DELETE', `/api/users/${id}`, 409)), 'user_has_whispers');
  t.equal((await call('GET', `/api/keys/${key.id}`, 200)).body.revokedAt, null);
  await send('DELETE', `/api/users/${id}?cascade=true`, 204);
  // Bug: in the same process, the key and the token stood for the deleted user for seconds.
  await ask('GET', '/api/me', 401, { headers: bearer(key.key) });
  const late = await send('POST', '/api/whispers', 403, { body: { words: 'Late', keeperId: id } });
  t.equal(codeOf(late), 'no_person');
  t.match((await call('GET', `/api/keys/${key.id}`, 200)).body, { userId: id, revokedAt: /^20/ });
  t.match(await lastEntry(key.id), { action: 'key.revoke', actorId: subject, details: { person: id } });
  t.equal(codeOf(await send('GET', '/api/me', 404)), 'no_person');
  const again = (await send('POST', '/api/me', 201, { body: newPerson() })).body.id;
  t.not(again, id);
  await send('POST', '/api/whispers', 201, { body: { words: 'At once', keeperId: again } });
});

t.test('administrators link identities to users, and the person is another one at once', async t => {
  const { subject, send } = await newToken();
  const body = identity(subject);
  const { id } = await makeUser(database);
  const path = `/api/users/${id}/identities`;
  const other = `/api/users/${(await makeUser(database)).id}/identities`;
  const linked = await call('POST', path, 201, { body });
  t.match(linked.body, body);
  t.same((await call('POST', path, 200, { body })).body, linked.body, 'the same again');
  t.equal(codeOf(await call('POST', other, 409, { body })), 'identity_taken');
  t.match(await lastEntry(id), { action: 'identity.create', details: null });
  t.equal((await send('GET', '/api/me', 200)).body.id, id);
  t.equal(codeOf(await send('POST', '/api/me', 409, { body: newPerson() })), 'person_exists');
  const query = `?${new URLSearchParams(body)}`;
  await call('DELETE', other + query, 404);
  await call('DELETE', path + query, 204);
  await call('DELETE', path + query, 404);
  t.match(await lastEntry(id), { action: 'identity.delete' });
  const registered = (await send('POST', '/api/me', 201, { body: newPerson() })).body.id;
  t.equal((await send('GET', '/api/me', 200)).body.id, registered);
  for (const [method, options] of Object.entries({ GET: {}, POST: { body } }))
    await call(method, '/api/users/nobody/identities', 404, options);
  await call('POST', path, 400, { body: { issuer: '', subject: 'x'.repeat(256) } });
});

t.test('the same over GraphQL', async t => {
  const { send } = await newToken();
  const graphql = async (query: string, sendIt = send) =>
    (await sendIt('POST', '/api/graphql', 200, { body: { query } })).body;
  t.same(await graphql('{ me { id } }'), { data: { me: null } });
  const { email } = newPerson();
  const register = `mutation { registerMe(input: { name: "Ada", email: "${email}" }) { id email } }`;
  const { registerMe } = (await graphql(register)).data;
  t.equal(registerMe.email, email);
  t.same((await graphql('{ me { id tendings { id } } }')).data.me, { id: registerMe.id, tendings: [] });
  const [{ extensions }] = (await graphql(register)).errors;
  t.match(extensions, { code: 'PERSON_EXISTS', details: { code: 'person_exists', id: registerMe.id } });
  t.match((await graphql('{ subscriptionsCount }')).errors[0].extensions, {
    code: 'FORBIDDEN',
    details: { scope: 'read' },
  });
  const reader = await newToken('read');
  for (const query of ['{ me { id } }', register])
    t.match((await graphql(query, reader.send)).errors[0].extensions, {
      code: 'FORBIDDEN',
      details: { code: 'forbidden', scope: 'own' },
    });
  const key = await makeKey(database, ['own'], { userId: registerMe.id });
  const { body } = await ask('POST', '/api/graphql', 200, {
    headers: bearer(key.key),
    body: { query: register },
  });
  t.match(body.errors[0].extensions, { code: 'FORBIDDEN', details: { code: 'forbidden' } });
  const create = `mutation { createWhisper(input: { words: "x", keeperId: "${(await reader.send('GET', '/api/users', 200)).body.data[0].id}" }) { id } }`;
  t.match((await graphql(create)).errors[0].extensions, {
    code: 'FORBIDDEN',
    details: { code: 'not_yours', path: '/input/keeperId' },
  });
});
