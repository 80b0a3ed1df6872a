import t from 'tap';
import { buildGraphQL, fill } from '../helper/graphql.ts';

t.test('20 users with their posts and the authors of those take as many statements as 2', async t => {
  const { post, database, statements } = await buildGraphQL(t);
  await fill(database, 20, 20);
  const count = async (limit: number) => {
    statements.length = 0;
    const { body } = await post(
      'query($limit: Int) { users(limit: $limit) { postsCount posts(limit: 20) { author { name } } } }',
      { limit },
    );
    t.equal(body.data.users.length, limit);
    return statements.length;
  };
  t.equal(await count(2), 4, 'a page with its total, the counts, the posts, the authors');
  t.equal(await count(20), 4);
});

t.test('records requested by id are read together', async t => {
  const { post, call, database, statements } = await buildGraphQL(t);
  await fill(database, 20, 1);
  const { body } = await call('GET', '/api/users', 200);
  statements.length = 0;
  const fields = body.data.map(({ id }: { id: string }, i: number) => `u${i}: user(id: "${id}") { name }`);
  const answer = await post(`{ ${fields.join(' ')} }`);
  t.equal(statements.length, 1);
  t.equal(answer.body.data.u19.name, 'User 20');
});

t.test('a mutation sees what an earlier one in the same request wrote', async t => {
  const { ask, call } = await buildGraphQL(t);
  const { body: ada } = await call('POST', '/api/users', 201, {
    body: { name: 'Ada', email: 'ada@example.com' },
  });
  const { body: notes } = await call('POST', '/api/posts', 201, { body: { title: 'A', authorId: ada.id } });
  const { data } = await ask(
    `mutation($user: ID!, $post: ID!) {
      before: updatePost(id: $post, input: { title: "B" }) { author { name } }
      rename: updateUser(id: $user, input: { name: "Countess" }) { posts { title } }
      after: updatePost(id: $post, input: { title: "C" }) { title author { name } }
    }`,
    { user: ada.id, post: notes.id },
  );
  t.same(data, {
    before: { author: { name: 'Ada' } },
    rename: { posts: [{ title: 'B' }] },
    after: { title: 'C', author: { name: 'Countess' } },
  });
});
