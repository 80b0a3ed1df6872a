import t from 'tap';
import { buildGraphQL, fill } from '../helper/graphql.ts';

const { ask, errorsOf, call, post, newUser, newPost, statements } = await buildGraphQL(t);
const ada = await newUser({ name: 'Ada' });
const bob = await newUser({ name: 'Bob' });
for (let i = 0; i < 25; i++) await newUser({ name: `Name ${i % 3}` });
for (let i = 0; i < 30; i++)
  await newPost({
    authorId: i % 5 === 0 ? bob.id : ada.id,
    title: `Title ${i % 4}`,
    status: i % 2 ? 'draft' : 'published',
  });

interface Connection {
  edges: { cursor: string; node: { id: string } }[];
  nodes: { id: string }[];
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string };
  totalCount: number;
}
const page =
  'edges { cursor node { id } } nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount';
const listOf = async (path: string): Promise<string[]> =>
  (await call('GET', `/api/${path}&limit=100`, 200)).body.data.map(({ id }: { id: string }) => id);

t.test('a connection has the records and the order of the REST list, in both directions', async t => {
  for (const [field, type, list, args, query, owner] of [
    ['usersConnection', 'UserSort', 'users', '', ''],
    ['usersConnection', 'UserSort', 'users', '', '&sort=-name'],
    ['usersConnection', 'UserSort', 'users', ', name: "Name 1"', '&sort=email&name=Name+1'],
    ['postsConnection', 'PostSort', 'posts', '', '&sort=title'],
    ['postsConnection', 'PostSort', 'posts', ', status: draft', '&sort=-title&status=draft'],
    ['postsConnection', 'PostSort', 'posts', `, author: "${ada.id}"`, `&author=${ada.id}`],
    [
      'postsConnection',
      'PostSort',
      'posts',
      '',
      `&sort=-title&author=${ada.id}`,
      `owner: user(id: "${ada.id}")`,
    ],
  ]) {
    const expected = await listOf(`${list}?${query}`);
    const sort = /sort=(-?)(\w+)/.exec(query ?? '');
    const order = sort ? `${sort[2]}${sort[1] ? '_desc' : ''}` : null;
    for (const [size, cursor] of [
      ['first', 'after'],
      ['last', 'before'],
    ]) {
      const selected = `page: ${field}(${size}: $size, ${cursor}: $cursor, sort: $sort${args}) { ${page} }`;
      const document = `query($size: Int, $cursor: String, $sort: ${type}) {
        ${owner ? `${owner} { ${selected} }` : selected}
      }`;
      const pages: string[][] = [];
      for (let next: string | null = ''; next !== null; ) {
        const { data, errors } = await ask(document, {
          size: 7,
          cursor: next || null,
          sort: order ?? 'createdAt',
        });
        t.same(errors, undefined);
        const { edges, nodes, pageInfo, totalCount }: Connection = (data.owner ?? data).page;
        t.equal(totalCount, expected.length);
        t.same(
          edges.map(({ node }) => node),
          nodes,
        );
        t.equal(pageInfo.startCursor, edges[0]?.cursor);
        t.equal(pageInfo.endCursor, edges.at(-1)?.cursor);
        const forward = size === 'first';
        const [ahead, back] = forward
          ? [pageInfo.hasNextPage, pageInfo.hasPreviousPage]
          : [pageInfo.hasPreviousPage, pageInfo.hasNextPage];
        t.equal(back, next !== '', 'there is a page behind, except at the start');
        pages.push(nodes.map(({ id }) => id));
        next = ahead ? (forward ? pageInfo.endCursor : pageInfo.startCursor) : null;
      }
      if (size === 'last') pages.reverse();
      t.same(pages.flat(), expected, `${field} ${query} ${size}`);
    }
  }
});

t.test('a cursor works in REST and in GraphQL, with the same sort and filters', async t => {
  const rest = (await call('GET', '/api/posts?limit=3&sort=title&status=draft&after=', 200)).body;
  const document =
    'query($after: String) { page: postsConnection(first: 3, after: $after, sort: title, status: draft) { edges { cursor } nodes { id } } }';
  const first: Connection = (await ask(document)).data.page;
  t.equal(first.edges.at(-1)?.cursor, rest.meta.next);
  const second: Connection = (await ask(document, { after: rest.meta.next })).data.page;
  const there = await call(
    'GET',
    `/api/posts?limit=3&sort=title&status=draft&after=${first.edges[2]?.cursor}`,
    200,
  );
  t.same(
    second.nodes.map(({ id }) => id),
    there.body.data.map(({ id }: { id: string }) => id),
  );
  t.match(await errorsOf(`{ postsConnection(after: "${rest.meta.next}") { totalCount } }`), [
    { extensions: { code: 'BAD_USER_INPUT', details: [{ path: '/after' }] } },
  ]);
});

t.test('a page has 20 records if nothing is said, and any number from 0 to 100', async t => {
  const { data } = await ask(`{
    none: usersConnection { nodes { id } }
    nothing: usersConnection(first: null, last: null, after: null, before: null) { nodes { id } }
    zero: usersConnection(first: 0) { ${page} }
    zeroLast: usersConnection(last: 0) { ${page} }
    all: usersConnection(first: 100) { nodes { id } pageInfo { hasNextPage hasPreviousPage } }
    back: usersConnection(before: "") { nodes { id } }
    empty: usersConnection(name: "nobody") { ${page} }
  }`);
  const ids = await listOf('users?');
  const idsOf = ({ nodes }: Connection) => nodes.map(({ id }) => id);
  t.same(idsOf(data.none), ids.slice(0, 20));
  t.same(idsOf(data.nothing), ids.slice(0, 20));
  t.same(idsOf(data.all), ids);
  t.same(data.all.pageInfo, { hasNextPage: false, hasPreviousPage: false });
  t.same(idsOf(data.back), ids.slice(-20), 'an empty cursor is an end of the list');
  const none = { startCursor: null, endCursor: null };
  const empty = { edges: [], nodes: [] };
  t.same(data.zero, {
    ...empty,
    totalCount: 27,
    pageInfo: { hasNextPage: true, hasPreviousPage: false, ...none },
  });
  t.same(data.zeroLast, {
    ...empty,
    totalCount: 27,
    pageInfo: { hasNextPage: false, hasPreviousPage: true, ...none },
  });
  t.same(data.empty, {
    ...empty,
    totalCount: 0,
    pageInfo: { hasNextPage: false, hasPreviousPage: false, ...none },
  });
});

t.test('sizes out of range, and arguments that exclude each other, are refused by name', async t => {
  const range = 'must be a whole number from 0 to 100';
  for (const [args, name, message] of [
    ['first: -1', 'first', range],
    ['first: 101', 'first', range],
    ['last: -1', 'last', range],
    ['last: 101', 'last', range],
    ['first: 1, last: 1', 'last', 'cannot be combined with "first"'],
    ['first: 1, before: ""', 'before', 'cannot be combined with "first"'],
    ['last: 1, after: ""', 'after', 'cannot be combined with "last"'],
    ['after: "", before: ""', 'before', 'cannot be combined with "after"'],
    ['after: "x"', 'after', 'is not a cursor of this list with these filters and this sort'],
    ['name: ""', 'name', 'must be 1 to 200 characters long'],
    [
      'createdSince: "today"',
      'createdSince',
      'must be a time with its zone from the year 1 to 9999, such as 2026-11-23T00:00:00Z',
    ],
  ])
    t.match(
      await errorsOf(`{ usersConnection(${args}) { totalCount } }`),
      [{ extensions: { code: 'BAD_USER_INPUT', details: [{ path: `/${name}`, message }] } }],
      String(args),
    );
});

t.test('the total is read only when it is selected', async t => {
  const count = async (fields: string, variables?: object) => {
    statements.length = 0;
    const query = `query($yes: Boolean = false) { postsConnection(first: 2) { __typename @include(if: $yes) nodes { id } ${fields} } }`;
    await post(query, variables as Record<string, unknown>);
    return statements.length;
  };
  t.equal(await count(''), 1);
  t.equal(await count('pageInfo { hasNextPage hasPreviousPage }'), 1);
  t.equal(await count('totalCount'), 2);
  t.equal(await count('totalCount @include(if: $yes)'), 1);
  t.equal(await count('totalCount @include(if: $yes)', { yes: true }), 2);
});

t.test('the connections of many users are read together, each with its own records', async t => {
  const { ask, post, database, statements, call } = await buildGraphQL(t);
  await fill(database, 20, 9);
  const count = async (first: number) => {
    statements.length = 0;
    await post(
      'query($first: Int) { usersConnection(first: $first) { nodes { postsConnection(first: 2, status: draft) { totalCount edges { cursor node { author { name } } } } } } }',
      { first },
    );
    return statements.length;
  };
  t.equal(await count(2), 4, 'the users, their posts, the filtered totals, the authors');
  t.equal(await count(20), 4);
  const { data } = await ask(`{
    users(limit: 3) {
      id
      two: postsConnection(first: 2) { nodes { title } pageInfo { hasNextPage hasPreviousPage } }
      last: postsConnection(last: 2) { nodes { title } pageInfo { hasNextPage hasPreviousPage } }
      sorted: postsConnection(first: 3, sort: title_desc, status: draft) { nodes { title } edges { cursor } totalCount }
      none: postsConnection(status: published) { nodes { title } totalCount }
    }
  }`);
  for (const [i, { id, two, last, sorted, none }] of data.users.entries()) {
    const titles = (...numbers: number[]) => numbers.map(p => ({ title: `Post ${p} of ${i + 1}` }));
    t.same(two, { nodes: titles(1, 2), pageInfo: { hasNextPage: true, hasPreviousPage: false } });
    t.same(last, { nodes: titles(8, 9), pageInfo: { hasNextPage: false, hasPreviousPage: true } });
    t.same(sorted.nodes, titles(9, 8, 7));
    t.equal(sorted.totalCount, 9);
    t.same(none, { nodes: [], totalCount: 0 });
    const path = `/api/posts?author=${id}&sort=-title&status=draft&limit=1&after=${sorted.edges[2].cursor}`;
    t.match((await call('GET', path, 200)).body.data, titles(6), 'and its own cursors');
  }
});
