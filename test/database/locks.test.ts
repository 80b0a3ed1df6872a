// runs: long, late
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { sql } from '#drizzle/orm.ts';
import { orm } from '#src/database/connection.ts';
import { users as people } from '#src/domain/users.ts';
import { inside } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { backend, hold, lockUser } from '#test/helper/database.ts';
import { keyed } from '#test/helper/events/replays.ts';
import { newPerson } from '#test/helper/resources/records.ts';
import { until } from '#test/rig/process.ts';
import { whisper } from '#test/world/whispers.ts';

// The embedded database has one connection: nothing runs alongside a transaction.
const test = backend === 'postgres' ? t.test.bind(t) : t.skip.bind(t);
const { call, send, newUser, make, database } = await build(t);

const create = (keeperId: string, status: number, headers = {}) =>
  call('POST', '/api/whispers', status, { headers, body: { words: 'New', keeperId } });

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

test('a batch has the time of one request, and what it has written by then is undone', async t => {
  const { call, newUser, database } = await build(t, { settings: { REQUEST_TIMEOUT: 1 } });
  const { id } = await newUser();
  const release = await lockUser(database, id, 'update');
  const digging = { method: 'POST', path: '/api/burrows', body: { label: 'Late' } };
  const operations = [
    digging,
    { method: 'PATCH', path: `/api/users/${id}`, body: { name: 'Late' } },
    digging,
  ];
  const headers = keyed('late');
  await call('POST', '/api/batch', 503, { body: { operations }, headers });
  await sleep(300);
  await release();
  t.equal((await call('GET', '/api/burrows?label=Late', 200)).body.meta.total, 0);
  const { body } = await call('POST', '/api/batch', 200, { body: { operations }, headers });
  t.match(body.results, [{ status: 201 }, { body: { version: 2 } }, { status: 201 }]);
});

test('a change of a user does not block whispers of that user', async () => {
  const { id } = await newUser();
  const release = await lockUser(database, id, 'no key update');
  await create(id, 201);
  await release();
});

test('a change of a user does not wait for new whispers of that user', async t => {
  const { id } = await newUser();
  await database.writes.transaction(async tx => {
    // Takes the lock of a new whisper's foreign key. A change waits for it only if its own lock is too strong.
    await orm(tx).execute(sql`select from users where id = ${id} for key share`);
    await call('PATCH', `/api/users/${id}`, 200, { body: { name: 'Ada King' } });
  });
  t.equal((await call('GET', `/api/users/${id}`, 200)).body.name, 'Ada King');
});

test('while no connection is free, writes and /health/ready are 503 and reads continue', async t => {
  const holders = Array.from({ length: 4 }, () => hold(database, async () => {}));
  await until('no connection is free', () => !database.hasConnections());
  const { error } = (await call('GET', '/health/ready', 503)).body;
  t.match(error.message, /get no connection/);
  const write = (status: number) => call('POST', '/api/users', status, { body: newPerson() });
  t.match(await write(503), { headers: { 'retry-after': '1' } }, 'after a bounded wait');
  await call('GET', '/api/users', 200);
  for (const release of await Promise.all(holders)) await release();
  await until('a connection is free', () => database.hasConnections());
  await call('GET', '/health/ready', 200);
  await write(201);
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

test('requests for other rows do not wait for a locked row (they waited 2 s behind it)', async t => {
  const [held, other] = [await newUser(), await newUser()];
  const release = await lockUser(database, held.id, 'update');
  let refused = 0;
  const note = () => {
    refused++;
  };
  // Sends more requests than there are connections, of every kind that waits for this row.
  const blocked = Array.from({ length: 6 }, () => create(held.id, 503).then(note));
  // Each of these tries at once, and would keep a connection for as long as a statement may wait for a lock.
  for (let i = 0; i < 60; i++) blocked.push(create(held.id, 503, keyed(`held-${i}`)).then(note));
  const query = `mutation { updateUser(id: "${held.id}", input: { name: "Other" }) { name } }`;
  for (let i = 0; i < 60; i++) {
    const sent = { headers: keyed(`change-${i}`), body: { query } };
    // The mutation that has its turn runs, and fails with a 200; the others do not begin.
    blocked.push(send('POST', '/api/graphql', sent).then(note));
  }
  const moved = await Promise.all(Array.from({ length: 6 }, () => make(whisper, { keeperId: other.id })));
  const toHeld = { body: { keeperId: held.id } };
  for (const { id } of moved) blocked.push(call('PATCH', `/api/whispers/${id}`, 503, toHeld).then(note));
  for (const name of ['A', 'B', 'C'])
    blocked.push(call('PATCH', `/api/users/${held.id}`, 503, { body: { name } }).then(note));
  blocked.push(call('DELETE', `/api/users/${held.id}`, 503).then(note));
  for (let round = 0; round < 3; round++) {
    const others: Promise<unknown>[] = [create(other.id, 201), create(other.id, 201)];
    // Starts enough writes in one turn of the event loop to use every connection that accepts them.
    others.push(...Array.from({ length: 20 }, () => people.create(inside(database), newPerson())));
    const { id } = await make(whisper, { keeperId: other.id });
    others.push(call('PATCH', `/api/whispers/${id}`, 200, { body: { words: 'Other' } }));
    others.push(...Array.from({ length: 20 }, () => call('GET', `/api/users/${held.id}`, 200)));
    others.push(call('GET', '/api/whispers?limit=1', 200), call('GET', '/health/ready', 200));
    await Promise.all(others);
  }
  t.equal(refused, 0, 'all of that was answered while the blocked ones still waited');
  await Promise.all(blocked);
  const { body, headers } = await call('PATCH', `/api/users/${held.id}`, 503, { body: { name: 'D' } });
  t.match(body.error, { message: /^Another change/ });
  t.match(headers, { 'retry-after': '1' });
  await release();
  await call('PATCH', `/api/users/${held.id}`, 200, { body: { name: 'E' } });
  const { meta } = (await call('GET', `/api/whispers?keeper=${held.id}`, 200)).body;
  t.equal(meta.total, 0, 'nothing that was refused is stored');
});
