// runs: late
import t from 'tap';
import { build } from '#test/helper/app.ts';
import { burrow } from '#test/world/burrows.ts';
import { tending } from '#test/world/tendings.ts';

const { call, app, newUser, make } = await build(t);
const taken = {
  message: 'Another record with this email exists.',
  status: 409,
  details: { code: 'email_taken', path: '/email' },
};
const headers = { 'content-type': 'application/json' };

/** Sends requests at once and counts the answers by status. */
async function race(requests: { method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'; url: string; body?: object }[]) {
  const replies = await Promise.all(
    requests.map(({ method, url, body }) =>
      app.inject({ method, url, ...(body && { headers, payload: JSON.stringify(body) }) }),
    ),
  );
  const counts: Record<string, number> = {};
  for (const { statusCode } of replies) counts[statusCode] = (counts[statusCode] ?? 0) + 1;
  return { counts, replies };
}

/** The address in mixed case: each set bit makes one letter a capital. */
const mixed = (email: string, bits: number) =>
  [...email].map((letter, at) => ((bits >> (at % 8)) & 1 ? letter.toUpperCase() : letter)).join('');

t.test("PUT and PATCH cannot take another user's address, but can change the case of one's own", async t => {
  await newUser({ email: 'first@example.com' });
  const { id, ...second } = await newUser({ email: 'second@example.com' });
  const path = `/api/users/${id}`;
  const body = { name: 'x', email: 'FIRST@example.com' };
  t.match((await call('PUT', path, 409, { body })).body.error, taken);
  t.match((await call('PATCH', path, 409, { body })).body.error, taken);
  t.same((await call('GET', path, 200)).body, { id, ...second });
  const { body: own } = await call('PATCH', path, 200, { body: { email: 'Second@Example.com' } });
  t.equal(own.email, 'Second@Example.com');
});

t.test('of 100 parallel creates of one address in mixed case, 1 succeeds and 99 conflict', async t => {
  for (const round of [1, 2, 3]) {
    const email = `race${round}@example.com`;
    const { counts, replies } = await race(
      Array.from({ length: 100 }, (_, i) => ({
        method: 'POST' as const,
        url: '/api/users',
        body: { name: `Racer ${i}`, email: mixed(email, i) },
      })),
    );
    t.same(counts, { 201: 1, 409: 99 });
    const { body } = await call('GET', `/api/users?email=${email}`, 200);
    t.same(body.data, [replies.find(reply => reply.statusCode === 201)?.json()]);
  }
});

t.test('of 20 parallel deletes, 1 finds the record', async t => {
  const { id, userId } = await make(tending);
  for (const url of [`/api/tendings/${id}`, `/api/users/${userId}`]) {
    const { counts } = await race(Array.from({ length: 20 }, () => ({ method: 'DELETE' as const, url })));
    t.same(counts, { 204: 1, 404: 19 });
  }
});

t.test('parallel changes of different members are all kept', async t => {
  const { id } = await newUser();
  const url = `/api/users/${id}`;
  const { counts } = await race([
    ...Array.from({ length: 20 }, () => ({ method: 'PATCH' as const, url, body: { name: 'Changed' } })),
    { method: 'PATCH', url, body: { email: 'changed@example.com' } },
  ]);
  t.same(counts, { 200: 21 });
  t.match((await call('GET', url, 200)).body, { name: 'Changed', email: 'changed@example.com' });
});

t.test('a cascading delete in parallel with new specimens of the burrow leaves none behind', async t => {
  for (let round = 0; round < 5; round++) {
    const { id: burrowId } = await make(burrow);
    const create = { method: 'POST' as const, url: '/api/specimens', body: { label: 'Late', burrowId } };
    const remove = { method: 'DELETE' as const, url: `/api/burrows/${burrowId}?cascade=true` };
    const { counts } = await race([...Array(10).fill(create), remove, ...Array(10).fill(create)]);
    t.equal(counts[204], 1);
    t.equal((counts[201] ?? 0) + (counts[400] ?? 0), 20, JSON.stringify(counts));
    const { body } = await call('GET', `/api/specimens?burrow=${burrowId}`, 200);
    t.equal(body.meta.total, 0, 'none is left behind');
  }
});

t.test('of a delete without cascade and a parallel new child, one is refused', async t => {
  for (let round = 0; round < 10; round++) {
    const { id: parentId } = await make(burrow);
    const { counts } = await race([
      { method: 'DELETE', url: `/api/burrows/${parentId}` },
      { method: 'POST', url: '/api/burrows', body: { label: 'Late', parentId } },
    ]);
    const deletedFirst = counts[204] === 1 && counts[400] === 1;
    t.ok(deletedFirst || (counts[409] === 1 && counts[201] === 1), JSON.stringify(counts));
  }
});

t.test('moving tendings between users that are being deleted never causes a 500', async t => {
  const [from, to] = [await newUser(), await newUser()];
  const moved = await Promise.all(Array.from({ length: 15 }, () => make(tending, { userId: from.id })));
  const { counts } = await race([
    ...moved.map(({ id }) => ({
      method: 'PATCH' as const,
      url: `/api/tendings/${id}`,
      body: { userId: to.id },
    })),
    { method: 'DELETE', url: `/api/users/${to.id}?cascade=true` },
    { method: 'DELETE', url: `/api/users/${from.id}?cascade=true` },
  ]);
  t.notOk(
    Object.keys(counts).find(status => status.startsWith('5')),
    JSON.stringify(counts),
  );
  const { body } = await call('GET', `/api/tendings?user=${to.id}`, 200);
  t.equal(body.meta.total, 0);
});
