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

/** The arguments of GraphQL, and the parameters of REST. */
const toText = (args: Record<string, string | number>) =>
  Object.entries(args)
    .map(([name, value]) => {
      const isPlain = typeof value === 'number' || name === 'sort' || name === 'status';
      return `${name}: ${isPlain ? value : JSON.stringify(value)}`;
    })
    .join(', ');
const toQuery = ({ sort, ...args }: Record<string, string | number>) =>
  new URLSearchParams({
    ...(Object.fromEntries(Object.entries(args).map(([name, value]) => [name, String(value)])) as object),
    ...(sort && { sort: String(sort).replace(/^(\w+)_desc$/, '-$1') }),
  });

t.test('a nested list has the sorts, filters and pages of the REST list, for each parent', async t => {
  for (const sort of ['createdAt', 'createdAt_desc', 'title_desc'])
    for (const filter of [
      {},
      { status: 'draft' },
      { status: 'published', title: 'Title 1' },
      { createdBefore: times[30] as string, status: 'published' },
      { createdSince: times[9] as string, createdBefore: times[40] as string, title: 'Title 2' },
    ]) {
      const fields = [{}, { limit: 4, page: 2 }, { page: 2 }].map(page => ({
        sort,
        ...filter,
        ...page,
      }));
      const selections = fields.map((args, i) => `p${i}: posts(${toText(args)}) { id }`);
      statements.length = 0;
      const { data, errors } = await ask(`{ users { id ${selections.join(' ')} } }`);
      t.same(errors, undefined);
      t.equal(statements.length, 1 + fields.length, 'one statement for all parents');
      t.equal(data.users.length, authors.length);
      for (const user of data.users)
        for (const [i, args] of fields.entries()) {
          // The page of the whole list of REST: by number, REST would share a fault of the reader.
          const path = `/api/posts?author=${user.id}&limit=100&${toQuery({ sort, ...filter })}`;
          const whole = (await call('GET', path, 200)).body.data.map(({ id }: { id: string }) => id);
          const { page = 1, limit = 'page' in args ? 20 : 100 } = args as { page?: number; limit?: number };
          t.same(
            user[`p${i}`].map(({ id }: { id: string }) => id),
            whole.slice((page - 1) * limit, page * limit),
            `${path} ${JSON.stringify(args)}`,
          );
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
