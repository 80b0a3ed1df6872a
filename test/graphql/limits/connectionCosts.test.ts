import t from 'tap';
import { buildGraphQL, fill } from '../../helper/graphql.ts';

t.test('the cost of a connection is its size, and multiplies what is below', async t => {
  const { errorsOf, ask } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 100 });
  const costs = async (query: string, value: number, variables?: Record<string, unknown>) =>
    t.match(
      await errorsOf(query, variables),
      [{ extensions: { code: 'COST_LIMIT_EXCEEDED', value } }],
      query,
    );
  const passes = async (query: string, variables?: Record<string, unknown>) =>
    t.same((await ask(query, variables)).errors, undefined, query);
  await passes(
    '{ usersConnection(first: 100) { edges { cursor node { id name } } nodes { id } pageInfo { endCursor } } }',
  );
  await costs('{ usersConnection(first: 100) { totalCount } }', 101);
  await passes('{ usersConnection { nodes { postsCount } edges { node { postsCount } } } }');
  await costs('{ usersConnection { nodes { postsConnection(last: 5) { nodes { id } } } } }', 120);
  await costs(
    '{ usersConnection(first: 9) { edges { node { postsConnection(first: 10) { nodes { author { id } } } } } } }',
    189,
  );
  const variable =
    'query($n: Int = 60) { usersConnection(last: $n) { ...F } } fragment F on UserConnection { ... on UserConnection { edges { ...G } } } fragment G on UserEdge { node { postsCount } }';
  await costs(variable, 120);
  await costs(variable, 102, { n: 51 });
  await passes(variable, { n: 50 });
  await costs(
    'query($n: Int) { usersConnection(first: $n) { nodes { a: postsCount b: postsCount c: postsCount d: postsCount e: postsCount } } }',
    120,
    { n: null },
  );
  await passes('query($n: Int) { usersConnection(first: $n) { nodes { postsCount } } }', { n: 0 });
});

t.test('records of connections are charged to the budget of the request', async t => {
  const { post, database } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 1_000_000 });
  await fill(database, 110, 100);
  const sorts = ['createdAt', 'createdAt_desc', 'title', 'title_desc'];
  const fields = sorts.map(sort => `${sort}: postsConnection(first: 100, sort: ${sort}) { nodes { id } }`);
  const { body } = await post(`{ users { ${fields.join(' ')} } }`);
  t.equal(body.errors, undefined, '44,110 records are allowed');
  const more = `{ users { ${fields.join(' ')} last: postsConnection(last: 100) { nodes { id } } } }`;
  t.match((await post(more)).body.errors[0], {
    extensions: { code: 'RECORD_LIMIT_EXCEEDED', maximum: 50_000 },
  });
});
