import { gunzipSync } from 'node:zlib';
import { getIntrospectionQuery } from 'graphql';
import t from 'tap';
import { buildGraphQL } from '../helper/graphql.ts';

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

t.test('the schema is compressed for a client that accepts it, and nothing that depends on data', async t => {
  const { app } = await buildGraphQL(t);
  const ask = (query: string, encoding: string, headers = {}) =>
    app.inject({
      url: `/api/graphql?${new URLSearchParams({ query })}`,
      headers: { 'accept-encoding': encoding, ...headers },
    });
  const schema = getIntrospectionQuery();
  const whole = await ask(schema, 'gzip;q=0');
  t.match(whole.headers, { 'content-encoding': undefined, vary: 'accept, accept-encoding' });
  for (const accept of ['application/json', 'application/graphql-response+json']) {
    const { headers, rawPayload } = await ask(schema, 'gzip, br', { accept });
    t.match(headers, { 'content-encoding': 'gzip', 'content-type': `${accept}; charset=utf-8` });
    t.match(headers, { vary: 'accept, accept-encoding' });
    t.ok(rawPayload.length < whole.payload.length / 10);
    t.equal(String(gunzipSync(rawPayload)), whole.payload);
  }
  const inside = schema.slice(schema.indexOf('{') + 1);
  for (const query of [
    `query A { usersCount ${inside}`,
    `query A($skip: Boolean = false) { __typename @skip(if: $skip) ${inside}`,
    `query A { ...B ${inside} fragment B on Query { usersCount }`,
    '{ __typename }',
  ]) {
    const { payload, headers } = await ask(query, 'gzip');
    t.notMatch(payload, '"errors"');
    t.match(headers, { 'content-encoding': undefined, vary: 'accept' }, query.slice(0, 40));
  }
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
