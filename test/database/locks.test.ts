import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { orm } from '../../src/database/connection.ts';
import { build } from '../helper/app.ts';
import { backend, hold, lockUser } from '../helper/database.ts';
import { keyed } from '../helper/events/replays.ts';
import { until } from '../rig/process.ts';

// The embedded database has one connection: nothing runs alongside a transaction.
const test = backend === 'postgres' ? t.test.bind(t) : t.skip.bind(t);
const { call, newUser, database } = await build(t);

const post = (authorId: string, status: number, headers = {}) =>
  call('POST', '/api/posts', status, { headers, body: { title: 'Notes', authorId } });

test('no write begins after the deadline of its request (the last of twelve mutations ran 12 s later)', async t => {
  const { call, send, newUser, database } = await build(t, { settings: { REQUEST_TIMEOUT: 1 } });
  const { id } = await newUser();
  const release = await lockUser(database, id, 'update');
  const query = `mutation {
    first: updateUser(id: "${id}", input: { name: "first" }) { id }
    second: updateUser(id: "${id}", input: { name: "second" }) { id }
    third: createUser(input: { name: "third", email: "third@example.com" }) { id }
  }`;
  const sent = send('POST', '/api/graphql', { body: { query } });
  const path = `/api/users/${id}`;
  const [{ answer }, changed] = await Promise.all([sent, send('PATCH', path, { body: { name: 'fourth' } })]);
  t.match(answer.body.errors, [{ extensions: { code: 'UNAVAILABLE' } }]);
  t.equal(changed.answer.status, 503);
  // An attempt that began before the deadline may still wait for the lock, for 50 ms.
  await sleep(300);
  await release();
  t.match((await call('PATCH', path, 200, { body: { name: 'last' } })).body, { version: 2 });
  t.equal((await call('GET', '/api/users?name=third', 200)).body.meta.total, 0);
});

test('a change of a user does not block posts by that user', async () => {
  const { id } = await newUser();
  const release = await lockUser(database, id, 'no key update');
  await post(id, 201);
  await release();
});

test('a change of a user does not wait for new posts by that user', async t => {
  const { id } = await newUser();
  await database.writes.transaction(async tx => {
    // The lock of a new post's foreign key. A change waits for it only if its own lock is too strong.
    await orm(tx).execute(sql`select from users where id = ${id} for key share`);
    await call('PATCH', `/api/users/${id}`, 200, { body: { name: 'Ada King' } });
  });
  t.equal((await call('GET', `/api/users/${id}`, 200)).body.name, 'Ada King');
});

test('/health/ready is 503 while no connection is free (it was 200 while all writes waited)', async t => {
  const holders = Array.from({ length: 4 }, () => hold(database, async () => {}));
  await until('no connection is free', () => !database.hasConnections());
  const { error } = (await call('GET', '/health/ready', 503)).body;
  t.match(error.message, /All connections/);
  await call('GET', '/api/users', 200);
  for (const release of await Promise.all(holders)) await release();
  await until('a connection is free', () => database.hasConnections());
  await call('GET', '/health/ready', 200);
});

test('a mutation with a key that meets a lock for too long says when to try again', async t => {
  const held = await newUser();
  const release = await lockUser(database, held.id, 'update');
  const query = `mutation { updateUser(id: "${held.id}", input: { name: "Other" }) { name } }`;
  const send = () => call('POST', '/api/graphql', 200, { headers: keyed('locked'), body: { query } });
  const { body, headers } = await send();
  t.match(body.errors, [{ extensions: { code: 'UNAVAILABLE' } }]);
  t.equal(headers['retry-after'], '1');
  await release();
  t.match((await send()).body, { data: { updateUser: { name: 'Other' } } });
});
