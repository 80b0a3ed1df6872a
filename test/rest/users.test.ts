import t from 'tap';
import { build } from '../helper/app.ts';

const ada = { name: 'Ada Lovelace', email: 'ada@example.com' };

t.test('a user is created, read, replaced, updated and deleted', async t => {
  const { call } = await build(t);
  const created = await call('POST', '/api/users', 201, { body: ada });
  t.match(created.body, { ...ada, id: /^[0-9a-f-]{36}$/, createdAt: /Z$/ });
  t.equal(created.headers.location, `/api/users/${created.body.id}`);
  const path = `/api/users/${created.body.id}`;
  t.same((await call('GET', path, 200)).body, created.body);

  const replaced = await call('PUT', path, 200, {
    body: { name: 'Countess', email: 'countess@example.com' },
  });
  t.match(replaced.body, { id: created.body.id, name: 'Countess', email: 'countess@example.com' });
  const updated = await call('PATCH', path, 200, { body: { name: 'Ada' } });
  t.match(updated.body, { name: 'Ada', email: 'countess@example.com', createdAt: created.body.createdAt });

  const deleted = await call('DELETE', path, 204);
  t.equal(deleted.text, '');
  t.match((await call('GET', path, 404)).body, { error: { message: 'User not found.', status: 404 } });
});

t.test('what GET returned can be changed and put back whole', async t => {
  const { call } = await build(t);
  const { body: user } = await call('POST', '/api/users', 201, { body: ada });
  const { body } = await call('PUT', `/api/users/${user.id}`, 200, { body: { ...user, name: 'Ada King' } });
  t.equal(body.name, 'Ada King');
  const again = { ...body, createdAt: body.createdAt.replace('Z', '+00:00') };
  await call('PUT', `/api/users/${user.id}`, 200, { body: again });
  const refused = await call('PUT', `/api/users/${user.id}`, 400, {
    body: { ...body, createdAt: '2001-01-01T00:00:00Z' },
  });
  t.match(refused.body.error.details, [{ in: 'body', path: '/createdAt' }]);
});
