import t from 'tap';
import { build } from '#test/helper/app.ts';

// Everything happens within one millisecond.
const { call, newUser } = await build(t, { now: () => new Date('2026-11-21T09:30:00.000Z') });
const readOnly = (path: string) => ({
  in: 'body',
  path,
  message: 'is read-only and differs from the stored value',
});

t.test('a read-only time is accepted in another notation of the same instant', async () => {
  const user = await newUser();
  const path = `/api/users/${user.id}`;
  const at = new Date(user.createdAt);
  const shifted = new Date(at.getTime() + 2 * 3_600_000).toISOString().replace('Z', '+02:00');
  for (const createdAt of [
    user.createdAt.replace('.000Z', 'Z'),
    user.createdAt.replace('Z', '+00:00'),
    shifted,
  ])
    await call('PATCH', path, 200, { body: { createdAt } });
});

t.test('a different read-only value is refused, and nothing is changed', async t => {
  const user = await newUser();
  const other = await newUser();
  const path = `/api/users/${user.id}`;
  const full = { name: 'New', email: 'new@example.com' };
  for (const method of ['PUT', 'PATCH'])
    for (const [member, value] of [
      ['id', other.id],
      ['createdAt', '2001-01-01T00:00:00.000Z'],
    ] as const) {
      const { error } = (await call(method, path, 400, { body: { ...full, [member]: value } })).body;
      t.same(error.details, [readOnly(`/${member}`)], `${method} ${member}`);
    }
  const all = { id: other.id, createdAt: '2001-01-01T00:00:00Z', updatedAt: '2001-01-01T00:00:00Z' };
  const { error } = (await call('PATCH', path, 400, { body: all })).body;
  t.same(
    error.details,
    ['id', 'createdAt'].map(member => readOnly(`/${member}`)),
  );
  t.same((await call('GET', path, 200)).body, user);
});

t.test('two changes within a millisecond get different times, so the first becomes stale', async t => {
  const user = await newUser();
  const path = `/api/users/${user.id}`;
  const { body: first } = await call('PATCH', path, 200, { body: { name: 'First' } });
  const { body: second } = await call('PATCH', path, 200, { body: { name: 'Second' } });
  t.ok(user.updatedAt < first.updatedAt && first.updatedAt < second.updatedAt);
  await call('PUT', path, 409, { body: first });
});

t.test('bug: text that looks like a time was compared as a time', async t => {
  const { id } = await newUser({ name: '2024-01-01T00:00:00Z' });
  const name = '2024-01-01T00:00:00.000Z';
  t.equal((await call('PATCH', `/api/users/${id}`, 200, { body: { name } })).body.name, name);
});
