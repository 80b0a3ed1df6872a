import { globSync, readFileSync } from 'node:fs';
import { buildSchema, type GraphQLObjectType } from 'graphql';
import t from 'tap';
import { post, posts } from '#src/domain/posts.ts';
import { build } from '#test/helper/app.ts';
import { buildGraphQL } from '#test/helper/graphql.ts';
import { testResource } from '#test/helper/resources/testResource.ts';
import { isYours, migrations } from '#test/helper/yours.ts';

testResource(t, posts);

t.test('the schema of GraphQL has posts as the contract says', async t => {
  const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
  const typeOf = (type: string, field: string) =>
    String((schema.getType(type) as GraphQLObjectType).getFields()[field]?.type);
  t.same(
    ['id', 'title', 'author', 'version'].map(field => typeOf('Post', field)),
    ['ID!', 'String!', 'User!', 'Int!'],
  );
  t.equal(typeOf('User', 'posts'), '[Post!]!');
});

t.test('a list of posts has 20 on its first page, and more on request', async t => {
  const { call, newUser } = await build(t);
  const { id: authorId } = await newUser();
  for (let i = 0; i < 21; i++)
    await call('POST', '/api/posts', 201, { body: { title: `Notes ${i}`, authorId } });
  const { data, meta } = (await call('GET', '/api/posts', 200)).body;
  t.equal(data.length, 20);
  t.same(meta, { page: 1, limit: 20, total: 21, totalPages: 2 });
  const last = (await call('GET', '/api/posts?page=3&limit=10', 200)).body;
  t.match(
    last.data,
    [{ title: 'Notes 20', status: 'draft', authorId }],
    'a post is a draft when it does not say',
  );
});

t.test('posts are filtered by status, author and title, together', async t => {
  const { call, newUser, make } = await build(t);
  const [ada, bob] = [await newUser(), await newUser()];
  const first = await make(post, { authorId: ada.id, title: 'One', status: 'published' });
  const second = await make(post, { authorId: ada.id, title: 'Two', status: 'draft' });
  const third = await make(post, { authorId: bob.id, title: 'One', status: 'draft' });
  for (const [query, expected] of [
    [{ status: 'draft', author: ada.id }, [second.id]],
    [{ status: 'draft', title: 'One' }, [third.id]],
    [{ author: ada.id, title: 'One', status: 'published' }, [first.id]],
    [{ author: bob.id, title: 'Two' }, []],
    [{ title: 'One', sort: '-createdAt' }, [third.id, first.id]],
  ] as const) {
    const { data } = (await call('GET', `/api/posts?${new URLSearchParams(query)}`, 200)).body;
    t.same(
      data.map(({ id }: { id: string }) => id),
      expected,
      JSON.stringify(query),
    );
  }
});

t.test('a user with posts is not deleted without cascade, and with it the posts of nobody else', async t => {
  const { call, newUser, make } = await build(t);
  const [ada, bob] = [await newUser(), await newUser()];
  for (const authorId of [ada.id, ada.id, bob.id]) await make(post, { authorId });
  const { error } = (await call('DELETE', `/api/users/${ada.id}`, 409)).body;
  t.same(error.details, { code: 'user_has_posts', posts: 2 });
  await call('DELETE', `/api/users/${ada.id}?cascade=true`, 204);
  t.match((await call('GET', '/api/posts', 200)).body, { data: [{ authorId: bob.id }], meta: { total: 1 } });
});

t.test('users with their posts, and posts with their author, are one query', async t => {
  const { ask, newUser, make, statements } = await buildGraphQL(t);
  const [ada, bob] = [await newUser(), await newUser()];
  const titles = ['One', 'Two'];
  for (const title of titles) await make(post, { authorId: ada.id, title });
  statements.length = 0;
  t.same(await ask('{ users { email posts { title author { id } } } }'), {
    data: {
      users: [
        { email: ada.email, posts: titles.map(title => ({ title, author: { id: ada.id } })) },
        { email: bob.email, posts: [] },
      ],
    },
  });
  t.equal(statements.length, 3, 'a statement for each level');
});

t.test('a post belongs to its author alone, and everybody may read it', async t => {
  t.match(post, { owner: 'authorId', isPrivate: false });
});

t.test('the service names no posts: only what is yours does', async t => {
  const files = globSync(['{schemas,drizzle,src,plugins,scripts}/**/*.{ts,js,css}', 'drizzle/*.sql']);
  for (const file of [...files.filter(file => !isYours(file)), ...migrations])
    t.notMatch(readFileSync(file, 'utf8'), /\b(posts|Post|authorId)\b/, file);
});
