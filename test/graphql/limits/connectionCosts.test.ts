import t from 'tap';
import { buildGraphQL } from '../../helper/graphql.ts';

t.test('the cost of a connection is its size, and multiplies what is below', async t => {
  const { errorsOf, ask } = await buildGraphQL(t);
  const costs = async (query: string, value: number, variables?: Record<string, unknown>) =>
    t.match(
      await errorsOf(query, variables),
      [{ extensions: { code: 'COST_LIMIT_EXCEEDED', value } }],
      query,
    );
  const passes = async (query: string, variables?: Record<string, unknown>) =>
    t.same((await ask(query, variables)).errors, undefined, query);
  const page = 'edges { cursor node { id } } nodes { id } pageInfo { endCursor }';
  await passes(`{ users(limit: 50) { postsConnection(first: 99) { ${page} } } }`);
  await costs(`{ users(limit: 50) { postsConnection(first: 99) { ${page} totalCount } } }`, 5050);
  await passes('{ usersConnection { nodes { postsCount } edges { node { postsCount } } } }');
  const posts = 'postsConnection(last: 100) { nodes { id } }';
  await costs(`{ usersConnection(last: 50) { nodes { ${posts} } } }`, 5050);
  await costs(
    '{ usersConnection(first: 25) { edges { node { postsConnection(first: 100) { nodes { author { id } } } } } } }',
    5025,
  );
  const variable = `query($n: Int = 60) { usersConnection(last: $n) { ...F } } fragment F on UserConnection { ... on UserConnection { edges { ...G } } } fragment G on UserEdge { node { ${posts} } }`;
  await costs(variable, 6060);
  await costs(variable, 5050, { n: 50 });
  await passes(variable, { n: 49 });
  await costs(
    `query($n: Int) { usersConnection(first: $n) { nodes { a: ${posts} b: ${posts} c: ${posts} } } }`,
    6020,
    { n: null },
  );
  await passes('query($n: Int) { usersConnection(first: $n) { nodes { postsCount } } }', { n: 0 });
});
