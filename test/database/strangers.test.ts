import t from 'tap';
import { users as people } from '../../src/services/users.ts';
import { inside } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { backend, lockUser } from '../helper/database.ts';
import { keyed } from '../helper/events/replays.ts';
import { newPerson } from '../helper/records.ts';

// The embedded database has one connection: nothing runs alongside a transaction.
const test = backend === 'postgres' ? t.test.bind(t) : t.skip.bind(t);
const { call, send, newUser, newPost, database } = await build(t);

const post = (authorId: string, status: number, headers = {}) =>
  call('POST', '/api/posts', status, { headers, body: { title: 'Notes', authorId } });

test('requests for other rows do not wait for a locked row (they waited 2 s behind it)', async t => {
  const [held, other] = [await newUser(), await newUser()];
  const release = await lockUser(database, held.id, 'update');
  let refused = 0;
  const note = () => {
    refused++;
  };
  // More requests than there are connections, of every kind that waits for this row.
  const blocked = Array.from({ length: 6 }, () => post(held.id, 503).then(note));
  // Each tries at once, and would keep a connection for as long as a statement may wait for a lock.
  for (let i = 0; i < 60; i++) blocked.push(post(held.id, 503, keyed(`held-${i}`)).then(note));
  const query = `mutation { updateUser(id: "${held.id}", input: { name: "Other" }) { name } }`;
  for (let i = 0; i < 60; i++) {
    const sent = { headers: keyed(`change-${i}`), body: { query } };
    // The one that has its turn runs, and fails with a 200; the others do not begin.
    blocked.push(send('POST', '/api/graphql', sent).then(note));
  }
  const moved = await Promise.all(Array.from({ length: 6 }, () => newPost({ authorId: other.id })));
  const toHeld = { body: { authorId: held.id } };
  for (const { id } of moved) blocked.push(call('PATCH', `/api/posts/${id}`, 503, toHeld).then(note));
  for (const name of ['A', 'B', 'C'])
    blocked.push(call('PATCH', `/api/users/${held.id}`, 503, { body: { name } }).then(note));
  blocked.push(call('DELETE', `/api/users/${held.id}`, 503).then(note));
  for (let round = 0; round < 3; round++) {
    const others: Promise<unknown>[] = [post(other.id, 201), post(other.id, 201)];
    // Enough in one turn to use every connection that accepts them.
    others.push(...Array.from({ length: 20 }, () => people.create(inside(database), newPerson())));
    const { id } = await newPost({ authorId: other.id });
    others.push(call('PATCH', `/api/posts/${id}`, 200, { body: { title: 'Other' } }));
    others.push(...Array.from({ length: 20 }, () => call('GET', `/api/users/${held.id}`, 200)));
    others.push(call('GET', '/api/posts?limit=1', 200), call('GET', '/health/ready', 200));
    await Promise.all(others);
  }
  t.equal(refused, 0, 'all of that was answered while the blocked ones still waited');
  await Promise.all(blocked);
  const { body, headers } = await call('PATCH', `/api/users/${held.id}`, 503, { body: { name: 'D' } });
  t.match(body.error, { message: /^Another change/ });
  t.match(headers, { 'retry-after': '1' });
  await release();
  await call('PATCH', `/api/users/${held.id}`, 200, { body: { name: 'E' } });
  const { meta } = (await call('GET', `/api/posts?author=${held.id}`, 200)).body;
  t.equal(meta.total, 0, 'nothing that was refused is stored');
});
