import t from 'tap';
import { build } from '../helper/app.ts';

const { call, newUser, newPost } = await build(t);
const ada = await newUser();
const unknownUser = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';

t.test('the longest title has 500 characters, however many bytes each takes', async t => {
  const title = '😀'.repeat(500);
  const post = await newPost({ authorId: ada.id, title });
  t.equal((await call('GET', `/api/posts/${post.id}`, 200)).body.title, title);
  await call('POST', '/api/posts', 400, { body: { title: `${title}x`, authorId: ada.id } });
});

t.test('a post with an invalid value is refused', async t => {
  const good = { title: 'Notes', authorId: ada.id };
  for (const [change, path, message] of [
    [{ title: '' }, '/title', 'must be 1 to 500 characters long'],
    [{ status: 'Draft' }, '/status', 'must be one of "draft", "published"'],
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
