import t from 'tap';
import type { Post } from '../../schemas/post.ts';
import type { User } from '../../schemas/user.ts';
import { buildGraphQL, fill } from '../helper/graphql.ts';

const { ask, errorsOf, call, newUser, newPost, statements } = await buildGraphQL(t);
const authors: User[] = [];
for (const name of ['Ada', 'Bob', 'Cid']) authors.push(await newUser({ name }));
const posts: Post[] = [];
for (let i = 0; i < 48; i++)
  posts.push(
    await newPost({
      authorId: authors[i % 7 === 0 ? 1 : 0]?.id as string,
      title: `Title ${i % 5}`,
      status: i % 3 === 0 ? 'draft' : 'published',
    }),
  );
const times = posts.map(({ createdAt }) => createdAt);

t.test('a nested list has the sorts, filters and pages of the REST list, for each parent', async t => {
  const query = `query ($sort: PostSort, $status: PostStatus, $title: String, $since: DateTime, $before: DateTime) {
    users { id ${['', ', limit: 4, page: 2', ', page: 2'].map(
      (page, i) =>
        `p${i}: posts(sort: $sort, status: $status, title: $title, createdSince: $since, createdBefore: $before${page}) { id }`,
    )} }
  }`;
  for (const [sort, restSort] of [
    ['createdAt', 'createdAt'],
    ['createdAt_desc', '-createdAt'],
    ['title_desc', '-title'],
  ])
    for (const { since, before, ...filter } of [
      {},
      { status: 'draft' },
      { status: 'published', title: 'Title 1' },
      { before: times[30], status: 'published' },
      { since: times[9], before: times[40], title: 'Title 2' },
    ] as { since?: string; before?: string }[]) {
      statements.length = 0;
      const { data } = await ask(query, { sort, since, before, ...filter });
      t.equal(statements.length, 4, 'the users, and one statement for all parents of each list');
      t.equal(data.users.length, authors.length);
      const bounds = { ...(since && { createdSince: since }), ...(before && { createdBefore: before }) };
      for (const { id: author, ...lists } of data.users) {
        // The page of the whole list of REST: by number, REST would share a fault of the reader.
        const path = `/api/posts?limit=100&${new URLSearchParams({ author, sort: `${restSort}`, ...filter, ...bounds })}`;
        const whole = (await call('GET', path, 200)).body.data.map(({ id }: Post) => ({ id }));
        t.same(lists, { p0: whole, p1: whole.slice(4, 8), p2: whole.slice(20, 40) }, path);
      }
    }
});

t.test(
  'a nested list reads the members that fragments and directives select, and the ids of relations',
  async t => {
    const { data } = await ask(`
    query ($yes: Boolean = true) {
      users { id posts(limit: 2) { title ...More ... @include(if: $yes) { version } author { id } } }
    }
    fragment More on Post { status ... on Post { createdAt } }`);
    for (const { id, posts } of data.users) {
      const { data: whole } = (await call('GET', `/api/posts?author=${id}&limit=2`, 200)).body;
      const expected = whole.map(({ title, status, version, createdAt }: Record<string, unknown>) => ({
        title,
        status,
        createdAt,
        version,
        author: { id },
      }));
      t.same(posts, expected);
    }
  },
);

t.test('a nested list refuses what the REST list refuses', async t => {
  for (const [args, path] of [
    ['limit: 0', '/limit'],
    ['limit: 101', '/limit'],
    ['page: 0, sort: title', '/page'],
    ['title: ""', '/title'],
    ['createdSince: "today"', '/createdSince'],
  ])
    t.match(
      await errorsOf(`{ users { posts(${args}) { id } } }`),
      [{ path: ['users', 0, 'posts'], extensions: { code: 'BAD_USER_INPUT', details: [{ path }] } }],
      String(args),
    );
  for (const argument of ['author: "x"', 'after: ""', 'sort: name'])
    t.match(await errorsOf(`{ users { posts(${argument}) { id } } }`), [
      { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } },
    ]);
});

t.test('a list without a page is cut at the maximum, nested or not, and says so with its path', async t => {
  const { ask, database } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 1000 });
  await fill(database, 2, 201);
  const { data, errors } = await ask(`{ users {
    desc: posts(sort: createdAt_desc, status: draft) { title }
    some: posts(title: "Post 1 of 1") { title }
    page: posts(limit: 4) { title }
    none: posts(status: published) { title }
  } all: posts { title } }`);
  const titles = (user: number, ...numbers: number[]) =>
    numbers.map(n => ({ title: `Post ${n} of ${user}` }));
  const latest = Array.from({ length: 200 }, (_, i) => 201 - i);
  t.same(data.users, [
    { desc: titles(1, ...latest), some: titles(1, 1), page: titles(1, 1, 2, 3, 4), none: [] },
    { desc: titles(2, ...latest), some: [], page: titles(2, 1, 2, 3, 4), none: [] },
  ]);
  const paths = errors.map(({ path }: { path: object }) => path);
  t.same(paths.sort(), [['all'], ['users', 0, 'desc'], ['users', 1, 'desc']], 'with integers in the path');
  t.match(errors, Array(3).fill({ extensions: { code: 'LIST_TRUNCATED', maximum: 200 } }));
  t.equal(data.all.length, 200);
});
