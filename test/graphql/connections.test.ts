// runs: also on embedded
import t from 'tap';
import type { User } from '#schemas/user.ts';
import { buildGraphQL, fill } from '#test/helper/graphql.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

const { ask, errorsOf, call, post, newUser, make, statements } = await buildGraphQL(t);
for (let i = 0; i < 27; i++) await newUser({ name: `Name ${i % 3}` });
const [oak, elm] = [await make(burrow), await make(burrow)];
for (let i = 0; i < 30; i++) {
  const [burrowId, grade] = [i % 5 === 0 ? elm.id : oak.id, i % 2 ? 'rough' : 'fair'] as const;
  await make(specimen, { burrowId, grade, label: `Label ${i % 4}`, bones: i % 4 });
}

interface Connection {
  edges: { cursor: string; node: { id: string } }[];
  nodes: { id: string }[];
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string };
  totalCount: number;
}
const page =
  'edges { cursor node { id } } nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount';

t.test(
  'a connection has the records, the order and the cursors of the REST list, in both directions',
  async t => {
    const ofOak = { owner: `owner: burrow(id: "${oak.id}")`, query: `&burrow=${oak.id}` };
    for (const { list, args = '', query = '', owner } of [
      { list: 'users', args: 'sort: name_desc', query: '&sort=-name' },
      { list: 'users', args: 'sort: email, name: "Name 1"', query: '&sort=email&name=Name+1' },
      { list: 'specimens' },
      { list: 'specimens', args: 'sort: bones_desc, grade: rough', query: '&sort=-bones&grade=rough' },
      { list: 'specimens', args: `burrow: "${oak.id}"`, query: ofOak.query },
      { list: 'specimens', args: 'sort: label', query: `&sort=label${ofOak.query}`, owner: ofOak.owner },
    ])
      for (const [size, word] of [
        ['first', 'after'],
        ['last', 'before'],
      ]) {
        const selected = `page: ${list}Connection(${size}: 7, ${word}: $cursor, ${args}) { ${page} }`;
        const document = `query($cursor: String) { ${owner ? `${owner} { ${selected} }` : selected} }`;
        const { total } = (await call('GET', `/api/${list}?${query}`, 200)).body.meta;
        for (let cursor = ''; cursor !== null; ) {
          const rest = (await call('GET', `/api/${list}?limit=7&${word}=${cursor}${query}`, 200)).body;
          const { data } = await ask(document, { cursor });
          const { edges, nodes, pageInfo, totalCount }: Connection = (data.owner ?? data).page;
          const ids = rest.data.map(({ id }: { id: string }) => ({ id }));
          t.same(
            [nodes, edges.map(({ node }) => node), totalCount],
            [ids, ids, total],
            `${list} ${query} ${word}`,
          );
          const { previous, next } = rest.meta;
          const [startCursor, endCursor] = [edges[0]?.cursor, edges.at(-1)?.cursor];
          const more = { hasPreviousPage: previous !== null, hasNextPage: next !== null };
          t.same(pageInfo, { ...more, startCursor, endCursor });
          t.same([previous ?? startCursor, next ?? endCursor], [startCursor, endCursor]);
          cursor = word === 'after' ? next : previous;
        }
      }
  },
);

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
  const listed: User[] = (await call('GET', '/api/users?limit=100', 200)).body.data;
  const ids = listed.map(({ id }) => id);
  const idsOf = ({ nodes }: Connection) => nodes.map(({ id }) => id);
  t.same(idsOf(data.none), ids.slice(0, 20));
  t.same(idsOf(data.nothing), ids.slice(0, 20));
  t.same(idsOf(data.all), ids);
  t.same(data.all.pageInfo, { hasNextPage: false, hasPreviousPage: false });
  t.same(idsOf(data.back), ids.slice(-20), 'an empty cursor is an end of the list');
  for (const [name, totalCount, hasNextPage, hasPreviousPage] of [
    ['zero', 27, true, false],
    ['zeroLast', 27, false, true],
    ['empty', 0, false, false],
  ] as const) {
    const pageInfo = { hasNextPage, hasPreviousPage, startCursor: null, endCursor: null };
    t.same(data[name], { edges: [], nodes: [], totalCount, pageInfo }, name);
  }
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
    const query = `query($yes: Boolean = false) { specimensConnection(first: 2) { __typename @include(if: $yes) nodes { id } ${fields} } }`;
    await post(query, variables as Record<string, unknown>);
    return statements.length;
  };
  t.equal(await count(''), 1);
  t.equal(await count('pageInfo { hasNextPage hasPreviousPage }'), 1);
  t.equal(await count('totalCount'), 2);
  t.equal(await count('totalCount @include(if: $yes)'), 1);
  t.equal(await count('totalCount @include(if: $yes)', { yes: true }), 2);
});

t.test('the connections of many burrows are read together, each with its own records', async t => {
  const { ask, post, database, statements, call } = await buildGraphQL(t);
  await fill(database, 20, 9);
  const count = async (first: number) => {
    statements.length = 0;
    await post(
      'query($first: Int) { burrowsConnection(first: $first) { nodes { specimensCount specimensConnection(first: 2, grade: rough) { totalCount edges { cursor node { burrow { label } } } } } } }',
      { first },
    );
    return statements.length;
  };
  t.equal(await count(2), 5, 'the burrows, their specimens, both totals, the burrows of these');
  t.equal(await count(20), 5);
  const { data } = await ask(`{
    burrows(limit: 3) {
      id
      two: specimensConnection(first: 2) { nodes { label } pageInfo { hasNextPage hasPreviousPage } }
      last: specimensConnection(last: 2) { nodes { label } pageInfo { hasNextPage hasPreviousPage } }
      sorted: specimensConnection(first: 3, sort: label_desc, grade: rough) { nodes { label } edges { cursor } totalCount }
      none: specimensConnection(grade: fine) { nodes { label } totalCount }
    }
  }`);
  for (const [i, { id, two, last, sorted, none }] of data.burrows.entries()) {
    const labels = (...numbers: number[]) => numbers.map(s => ({ label: `Specimen ${s} of ${i + 1}` }));
    t.same(two, { nodes: labels(1, 2), pageInfo: { hasNextPage: true, hasPreviousPage: false } });
    t.same(last, { nodes: labels(8, 9), pageInfo: { hasNextPage: false, hasPreviousPage: true } });
    t.same(sorted.nodes, labels(9, 8, 7));
    t.equal(sorted.totalCount, 9);
    t.same(none, { nodes: [], totalCount: 0 });
    const path = `/api/specimens?burrow=${id}&sort=-label&grade=rough&limit=1&after=${sorted.edges[2].cursor}`;
    t.match((await call('GET', path, 200)).body.data, labels(6), 'and its own cursors');
  }
});
