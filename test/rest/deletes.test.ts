import t from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { orm } from '../../src/database/connection.ts';
import { build } from '../helper/app.ts';

// Beside other tests, 10,000 posts take the embedded database longer than a request has by default.
const { call, newUser, newPost, database } = await build(t, { settings: { REQUEST_TIMEOUT: 60 } });

t.test('a user with posts is not deleted, and the error counts the posts', async t => {
  const { id } = await newUser();
  for (const total of [1, 2, 3]) {
    await newPost({ authorId: id });
    for (const path of [`/api/users/${id}`, `/api/users/${id}?cascade=false`]) {
      const { error } = (await call('DELETE', path, 409)).body;
      t.same(error.details, { code: 'user_has_posts', posts: total });
      t.match(error.message, /cascade=true/);
    }
  }
  await call('GET', `/api/users/${id}`, 200);
});

t.test('cascade deletes no posts of others', async t => {
  const [ada, bob] = [await newUser(), await newUser()];
  for (const authorId of [ada.id, ada.id, bob.id]) await newPost({ authorId });
  await call('DELETE', `/api/users/${ada.id}?cascade=true`, 204);
  const { data } = (await call('GET', '/api/posts?limit=100', 200)).body;
  const left = data.map(({ authorId }: { authorId: string }) => authorId);
  t.same([left.includes(ada.id), left.includes(bob.id)], [false, true]);
});

t.test('a cascade over too many posts is refused with their number (bug: it was a 503)', async t => {
  const { id } = await newUser();
  await orm(database.writes).execute(sql`
    insert into posts (id, title, author_id, created_at, updated_at)
    select gen_random_uuid(), 'x', ${id}, now(), now() from generate_series(1, 10001)`);
  const { error } = (await call('DELETE', `/api/users/${id}?cascade=true`, 409)).body;
  t.same(error.details, { code: 'too_many_posts', posts: 10_001, maximum: 10_000 });
  const { data, meta } = (await call('GET', `/api/posts?author=${id}`, 200)).body;
  t.equal(meta.total, 10_001, 'nothing is deleted');
  await call('DELETE', `/api/posts/${data[0].id}`, 204);
  await call('DELETE', `/api/users/${id}?cascade=true`, 204);
  t.equal((await call('GET', `/api/posts?author=${id}`, 200)).body.meta.total, 0);
});

t.test('cascade must be true or false', async t => {
  const { id } = await newUser();
  for (const value of ['1', 'TRUE', '']) {
    const { error } = (await call('DELETE', `/api/users/${id}?cascade=${value}`, 400)).body;
    t.same(error.details, [{ in: 'query', path: '/cascade', message: 'must be a boolean' }], value);
  }
});
