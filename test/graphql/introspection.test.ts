import { getIntrospectionQuery } from 'graphql';
import t from 'tap';
import { buildGraphQL } from '#test/helper/graphql.ts';

const times = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ');

t.test('standard introspection passes at the smallest limits', async t => {
  const { ask } = await buildGraphQL(t, {
    GRAPHQL_MAX_DEPTH: 1,
    GRAPHQL_MAX_COST: 2500,
  });
  const everything = {
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    schemaDescription: true,
    inputValueDeprecation: true,
    oneOf: true,
  };
  t.ok((await ask(getIntrospectionQuery(everything))).data.__schema.types.length > 10);
});

t.test('nested and repeated introspection is refused', async t => {
  const { errorsOf } = await buildGraphQL(t);
  const loop = `{ __schema { types { ${'fields { type { '.repeat(6)} name ${'} }'.repeat(6)} } } }`;
  t.match(await errorsOf(loop), [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }]);
  const many = `{ ${times(30, i => `s${i}: __schema { types { fields { type { fields { name } } } } }`)} }`;
  t.match(await errorsOf(many), [{ extensions: { code: 'COST_LIMIT_EXCEEDED' } }]);
});

t.test('introspection can be turned off; then no message suggests a name', async t => {
  const { ask, errorsOf } = await buildGraphQL(t, { GRAPHQL_INTROSPECTION: 'off' });
  t.match(await errorsOf('{ __schema { types { name } } }'), [
    { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } },
  ]);
  t.match(await errorsOf('{ usrs { id } }'), [{ message: /^Cannot query field "usrs" on type "Query"\.$/ }]);
  t.match(await ask('{ __typename }'), { data: { __typename: 'Query' } });
});
