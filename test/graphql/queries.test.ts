import { readFileSync } from 'node:fs';
import { buildSchema } from 'graphql';
import t from 'tap';
import { post } from '../../schemas/post.ts';
import { user } from '../../schemas/user.ts';
import { buildGraphQL, fill } from '../helper/graphql.ts';

t.test('the schema has the types and operations of the contract exactly', async t => {
  const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
  const typeOf = (type: string, field: string) =>
    String((schema.getType(type) as import('graphql').GraphQLObjectType).getFields()[field]?.type);
  t.equal(typeOf('User', 'id'), 'ID!');
  t.equal(typeOf('User', 'name'), 'String!');
  t.equal(typeOf('User', 'email'), 'String!');
  t.equal(typeOf('User', 'posts'), '[Post!]!');
  t.equal(typeOf('Post', 'id'), 'ID!');
  t.equal(typeOf('Post', 'title'), 'String!');
  t.equal(typeOf('Post', 'author'), 'User!');
  for (const type of ['User', 'Post', 'CustomerSubscription']) t.equal(typeOf(type, 'version'), 'Int!');
  t.equal(typeOf('Query', 'users'), '[User!]!');
  t.equal(typeOf('Query', 'user'), 'User');
  t.ok(
    schema
      .getQueryType()
      ?.getFields()
      .users?.args.every(({ type }) => !String(type).endsWith('!')),
  );
});

t.test('a query gets exactly the fields it names, related records included', async t => {
  const { call, ask } = await buildGraphQL(t);
  const { body: ada } = await call('POST', '/api/users', 201, {
    body: { name: 'Ada', email: 'ada@example.com' },
  });
  await call('POST', '/api/posts', 201, { body: { title: 'Notes', authorId: ada.id } });
  const answer = await ask(
    'query One($id: ID!) { user(id: $id) { name posts { title author { email } } } }',
    {
      id: ada.id,
    },
  );
  t.same(answer, {
    data: { user: { name: 'Ada', posts: [{ title: 'Notes', author: { email: 'ada@example.com' } }] } },
  });
  t.same(await ask('{ users { posts { title } } }'), { data: { users: [{ posts: [{ title: 'Notes' }] }] } });
});

t.test('an unknown id and an invalid id give null without an error', async t => {
  const { ask } = await buildGraphQL(t);
  t.same(
    await ask('{ user(id: "019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90") { id } post(id: "\\u0000x") { id } }'),
    {
      data: { user: null, post: null },
    },
  );
});

t.test('GraphQL and REST return the same records', async t => {
  const { call, ask, database } = await buildGraphQL(t);
  await fill(database, 12, 7);
  const users = await call('GET', '/api/users?limit=100', 200);
  const posts = await call('GET', '/api/posts?limit=100', 200);
  const { data } = await ask(`{
    users { ${Object.keys(user.record.properties).join(' ')} }
    posts { ${Object.keys(post.record.properties).join(' ')} }
    usersCount postsCount
  }`);
  t.same(data.users, users.body.data);
  t.same(data.posts, posts.body.data);
  t.same([data.usersCount, data.postsCount], [12, 84]);
  const { data: nested } = await ask('{ users { id postsCount posts { id } } }');
  for (const user of nested.users) {
    const own = posts.body.data.filter((post: { authorId: string }) => post.authorId === user.id);
    t.same(
      user.posts.map((post: { id: string }) => post.id),
      own.map((post: { id: string }) => post.id),
    );
    t.equal(user.postsCount, 7);
  }
});

t.test('lists take the filters, sorts and pages of REST, and refuse what REST refuses', async t => {
  const { call, ask, errorsOf, database } = await buildGraphQL(t);
  await fill(database, 30, 2);
  const rest = await call('GET', '/api/users?sort=-name&page=2&limit=7', 200);
  const { data } = await ask('{ users(sort: name_desc, page: 2, limit: 7) { name } }');
  t.same(
    data.users,
    rest.body.data.map(({ name }: { name: string }) => ({ name })),
  );
  t.equal((await ask('{ users(page: 2) { id } }')).data.users.length, 10, 'a page has 20 records');
  t.equal((await ask('{ users(page: null, limit: null) { id } }')).data.users.length, 30);
  t.same(await ask('{ users(email: "USER3@example.com") { name } usersCount(name: "User 3") }'), {
    data: { users: [{ name: 'User 3' }], usersCount: 1 },
  });
  t.match(await ask('{ posts(status: published) { id } postsCount(status: draft) }'), {
    data: { posts: [], postsCount: 60 },
  });
  t.match(await errorsOf('{ users(limit: 101) { id } }'), [
    {
      path: ['users'],
      extensions: {
        code: 'BAD_USER_INPUT',
        details: [{ path: '/limit', message: 'must be a whole number from 1 to 100' }],
      },
    },
  ]);
  t.match(await errorsOf('{ posts(author: "me") { id } }'), [
    { extensions: { code: 'BAD_USER_INPUT', details: [{ path: '/author', message: 'must be an id' }] } },
  ]);
});
