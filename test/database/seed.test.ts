import t from 'tap';
import { seed } from '../../scripts/lib/seed.ts';
import { userOf } from '../../scripts/lib/seedRecords.ts';
import { build } from '../helper/app.ts';
import { openTestDatabase } from '../helper/database.ts';

const size = { users: 60, posts: 2100 };
const quietly = () => {};
const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const timeOf = (id: string) => Number.parseInt(id.slice(0, 13).replace('-', ''), 16);

t.test('the seed creates users and posts that look like those of the service', async t => {
  const database = await openTestDatabase(t);
  const progress: number[] = [];
  await seed(database.writes, size, done => progress.push(done));
  t.same(progress, [60, 1060, 2060, 2160]);
  const { call } = await build(t, { database });

  const { body: people } = await call('GET', '/api/users?limit=100', 200);
  t.same(people.meta, { page: 1, limit: 100, total: 60, totalPages: 1 });
  t.ok(people.data.every(({ id }: Created) => uuidv7.test(id)));
  t.ok(
    people.data.every(({ id, createdAt }: Created) => timeOf(id) === Date.parse(createdAt)),
    'the id holds the time of creation',
  );
  t.same(people.data.map(created), people.data.map(created).sort(), 'ids and times ascend together');

  const { body: last } = await call('GET', '/api/posts?page=21&limit=100', 200);
  t.same(last.meta, { page: 21, limit: 100, total: 2100, totalPages: 21 });
  t.equal(last.data.length, 100);
  t.same(last.data.map(created), last.data.map(created).sort());
  const { body: drafts } = await call('GET', '/api/posts?status=draft', 200);
  t.ok(drafts.meta.total > 420 && drafts.meta.total < 630, 'about a quarter are drafts');
  const [first, later] = [people.data[0], people.data[50]];
  const { body: many } = await call('GET', `/api/posts?author=${first.id}`, 200);
  const { body: few } = await call('GET', `/api/posts?author=${later.id}`, 200);
  t.ok(many.meta.total > 5 * few.meta.total, 'a few authors write a lot');
});

t.test('a second seed adds what is missing and changes nothing', async t => {
  const database = await openTestDatabase(t);
  const { call } = await build(t, { database });
  // A user already has an address that the seed would use.
  const { body: own } = await call('POST', '/api/users', 201, {
    body: { name: 'Somebody', email: userOf(0).email },
  });
  await seed(database.writes, { users: 20, posts: 50 }, quietly);
  const { body: user } = await call('GET', '/api/users?sort=name', 200);
  await call('PATCH', `/api/users/${user.data[0].id}`, 200, { body: { name: 'Changed' } });
  await call('DELETE', `/api/users/${user.data[1].id}?cascade=true`, 204);

  await seed(database.writes, { users: 20, posts: 50 }, quietly);
  const { body: again } = await call('GET', '/api/users', 200);
  t.equal(again.meta.total, 20, 'nineteen from the seed, and the existing user');
  t.equal((await call('GET', `/api/users/${user.data[0].id}`, 200)).body.name, 'Changed');
  t.same((await call('GET', `/api/users/${own.id}`, 200)).body, own);
  const before = await call('GET', '/api/posts?limit=100', 200);
  await seed(database.writes, { users: 20, posts: 50 }, quietly);
  t.same((await call('GET', '/api/posts?limit=100', 200)).body, before.body);
});

type Created = { id: string; createdAt: string };
const created = ({ id, createdAt }: Created) => `${createdAt} ${id}`;
