import t from 'tap';
import { buildGraphQL } from '#test/helper/graphql.ts';

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
  await passes(`{ burrows(limit: 50) { burrowsConnection(first: 99) { ${page} } } }`);
  await costs(`{ burrows(limit: 50) { burrowsConnection(first: 99) { ${page} totalCount } } }`, 5050);
  await passes('{ burrowsConnection { nodes { burrowsCount } edges { node { burrowsCount } } } }');
  const burrows = 'burrowsConnection(last: 100) { nodes { id } }';
  await costs(`{ burrowsConnection(last: 50) { nodes { ${burrows} } } }`, 5050);
  await costs(
    '{ burrowsConnection(first: 25) { edges { node { burrowsConnection(first: 100) { nodes { parent { id } } } } } } }',
    5025,
  );
  const variable = `query($n: Int = 60) { burrowsConnection(last: $n) { ...F } } fragment F on BurrowConnection { ... on BurrowConnection { edges { ...G } } } fragment G on BurrowEdge { node { ${burrows} } }`;
  await costs(variable, 6060);
  await costs(variable, 5050, { n: 50 });
  await passes(variable, { n: 49 });
  await costs(
    `query($n: Int) { burrowsConnection(first: $n) { nodes { a: ${burrows} b: ${burrows} c: ${burrows} } } }`,
    6020,
    { n: null },
  );
  await passes('query($n: Int) { burrowsConnection(first: $n) { nodes { burrowsCount } } }', { n: 0 });
});
