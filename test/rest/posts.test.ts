import t from 'tap';
import { build } from '../helper/app.ts';

const { call, newUser, newPost } = await build(t);
const ada = await newUser();
const unknownUser = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';

t.test('a post is created, read, replaced, updated and deleted', async t => {
  const body = { title: 'Notes on the engine', status: 'published', authorId: ada.id };
  const created = await call('POST', '/api/posts', 201, { body });
  t.match(created.body, body);
  t.same(Object.keys(created.body), [
    'id',
    'title',
    'status',
    'authorId',
    'version',
    'createdAt',
    'updatedAt',
  ]);
  const path = `/api/posts/${created.body.id}`;
  t.equal(created.headers.location, path);
  t.same((await call('GET', path, 200)).body, created.body);

  const bob = await newUser();
  const replaced = await call('PUT', path, 200, { body: { title: 'Other', authorId: bob.id } });
  t.match(replaced.body, { id: created.body.id, title: 'Other', authorId: bob.id });
  const updated = await call('PATCH', path, 200, { body: { status: 'published' } });
  t.match(updated.body, { title: 'Other', status: 'published', authorId: bob.id });
  t.same((await call('GET', path, 200)).body, updated.body);

  t.equal((await call('DELETE', path, 204)).text, '');
  t.match((await call('GET', path, 404)).body, { error: { message: 'Post not found.' } });
});

t.test('a new post is a draft by default', async t => {
  t.equal((await newPost({ authorId: ada.id })).status, 'draft');
  t.equal((await newPost({ authorId: ada.id, status: 'published' })).status, 'published');
});

t.test('replacing a post without a status makes it a draft; updating it does not', async t => {
  const { id, title } = await newPost({ authorId: ada.id, status: 'published' });
  const { body: kept } = await call('PATCH', `/api/posts/${id}`, 200, { body: { title: 'New' } });
  t.equal(kept.status, 'published');
  const { body } = await call('PUT', `/api/posts/${id}`, 200, { body: { title, authorId: ada.id } });
  t.equal(body.status, 'draft');
});

t.test('the longest title has 500 characters, however many bytes each takes', async t => {
  const title = '😀'.repeat(500);
  const post = await newPost({ authorId: ada.id, title });
  t.equal((await call('GET', `/api/posts/${post.id}`, 200)).body.title, title);
  await call('POST', '/api/posts', 400, { body: { title: `${title}x`, authorId: ada.id } });
});

t.test('a post with an invalid value is refused', async t => {
  const good = { title: 'Notes', authorId: ada.id };
  for (const [change, path, message] of [
    [{ title: undefined }, '/title', 'is required'],
    [{ authorId: undefined }, '/authorId', 'is required'],
    [{ title: '' }, '/title', 'must be 1 to 500 characters long'],
    [{ title: { text: 'x' } }, '/title', 'must be a string'],
    [{ title: null }, '/title', 'must be a string'],
    [{ status: 'Draft' }, '/status', 'must be one of "draft", "published"'],
    [{ status: null }, '/status', 'must be a string'],
    [{ authorId: null }, '/authorId', 'must be a string'],
    [{ authorId: 7 }, '/authorId', 'must be a string'],
    [{ authorId: '7' }, '/authorId', 'must be an id'],
    [{ authorId: ada.id.toUpperCase() }, '/authorId', 'must be an id'],
    [{ authorId: unknownUser }, '/authorId', 'is the id of no user'],
    [{ author: ada.id }, '/author', 'is not known; did you mean "authorId"?'],
  ] as const) {
    const { error } = (await call('POST', '/api/posts', 400, { body: { ...good, ...change } })).body;
    t.same(error.details[0], { in: 'body', path, message }, JSON.stringify(change));
  }
});

t.test('PUT and PATCH cannot assign a post to an unknown author', async t => {
  const post = await newPost({ authorId: ada.id });
  for (const [method, body] of [
    ['PUT', { title: 'x', authorId: unknownUser }],
    ['PATCH', { authorId: unknownUser }],
  ] as const) {
    const { error } = (await call(method, `/api/posts/${post.id}`, 400, { body })).body;
    t.same(error.details, [{ in: 'body', path: '/authorId', message: 'is the id of no user' }]);
  }
  t.same((await call('GET', `/api/posts/${post.id}`, 200)).body, post, 'the post is unchanged');
});
