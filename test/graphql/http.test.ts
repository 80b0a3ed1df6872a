import { serverAudits } from 'graphql-http';
import t from 'tap';
import { mediaTypeFor } from '#plugins/graphql/execution/http.ts';
import { build } from '#test/helper/app.ts';

const { app, call } = await build(t);
const origin = await app.listen({ port: 0, host: '127.0.0.1' });
const url = '/api/graphql';
const get = (parameters: Record<string, string>) => `${url}?${new URLSearchParams(parameters)}`;
const modern = { accept: 'application/graphql-response+json' };

t.test('the media type is the one that the client prefers', async t => {
  t.equal(mediaTypeFor('text/html'), 'application/json');
  t.equal(mediaTypeFor('application/graphql-response+json, application/json;q=0.9'), modern.accept);
  t.equal(mediaTypeFor('application/json, application/graphql-response+json;q=0.9'), 'application/json');
  t.equal(mediaTypeFor('application/graphql-response+json;q=0'), 'application/json');
});

t.test('a refused document has no data: 400 for the new media type and 200 for the old', async t => {
  const two = 'query A { usersCount } query B { usersCount }';
  for (const [code, query, operationName] of [
    ['GRAPHQL_PARSE_FAILED', '{'],
    ['GRAPHQL_VALIDATION_FAILED', '{ nobody }'],
    ['GRAPHQL_VALIDATION_FAILED', 'subscription S { usersCount }', 'S'],
    ['BAD_USER_INPUT', 'query($id: ID!) { user(id: $id) { id } }'],
    ['BAD_REQUEST', two, 'C'],
    ['BAD_REQUEST', two, 'toString'],
    ['BAD_REQUEST', two, ''],
    ['BAD_REQUEST', 'fragment F on User { id }', ''],
  ] as const) {
    const body = { query, ...(operationName !== undefined && { operationName }) };
    for (const [status, headers] of [
      [200, {}],
      [400, modern],
    ] as const)
      for (const answer of [
        await call('POST', url, status, { body, headers }),
        await call('GET', get(body), status, { headers }),
      ]) {
        t.match(
          answer.body,
          { errors: [{ message: String, extensions: { code, requestId: /^.{36}$/ } }] },
          query,
        );
        t.notOk('data' in answer.body);
      }
  }
});

t.test('a mutation by GET is 405 with Allow, and does nothing', async t => {
  const query =
    'mutation M { createUser(input: { name: "A", email: "a@example.com" }) { id } } query Q { usersCount }';
  const refused = await call('GET', get({ query, operationName: 'M' }), 405);
  t.equal(refused.headers.allow, 'POST');
  t.match(refused.body, { errors: [{ extensions: { code: 'METHOD_NOT_ALLOWED' } }] });
  t.same((await call('GET', get({ query, operationName: 'Q' }), 200)).body, { data: { usersCount: 0 } });
  await call('HEAD', get({ query: '{ usersCount }' }), 200);
});

t.test('invalid members are reported', async t => {
  const query = '{ usersCount }';
  const { body } = await call('POST', url, 400, { body: { query, variables: [], variabels: {} } });
  t.match(body.errors[0].extensions.details, [
    { path: '/variabels', message: 'is not known; did you mean "variables"?' },
    { path: '/variables', message: 'must be an object or null' },
  ]);
  for (const variables of ['[]', '{', '"x"', '3'])
    t.match((await call('GET', get({ query, variables }), 400)).body, {
      errors: [{ extensions: { details: [{ path: '/variables', message: 'must be a JSON object' }] } }],
    });
  t.match((await call('POST', url, 400, { body: {} })).body, { errors: [{ message: /no query/ }] });
  await call('GET', url, 400);
});

t.test('a batch is refused with an explanation', async t => {
  const { body } = await call('POST', url, 400, { body: [{ query: '{ usersCount }' }] });
  t.match(body, { errors: [{ message: /^Batches are not supported/, extensions: { code: 'BAD_REQUEST' } }] });
});

t.test('wrong media types, large bodies and too many requests are GraphQL errors too', async t => {
  const { call } = await build(t, { settings: { RATE_LIMIT_MAX: 6 } });
  const refusedAs = (code: string) => ({
    errors: [{ message: String, extensions: { code, requestId: String } }],
  });
  for (const type of [
    'text/plain',
    'application/graphql',
    'application/x-www-form-urlencoded',
    'application/merge-patch+json',
  ]) {
    const answer = await call('POST', url, 415, {
      raw: '{"query":"{usersCount}"}',
      headers: { 'content-type': type },
    });
    t.match(answer.body, refusedAs('UNSUPPORTED_MEDIA_TYPE'));
  }
  const long = { query: `{ usersCount } # ${'x'.repeat(256 * 1024)}` };
  t.match((await call('POST', url, 413, { body: long })).body, refusedAs('TOO_LARGE'));
  await call('POST', url, 200, { body: { query: '{ usersCount }' } });
  const late = await call('POST', url, 429, { body: { query: '{ usersCount }' }, headers: modern });
  t.match(late.body, refusedAs('RATE_LIMITED'));
  t.match(late.headers, { 'retry-after': /^\d+$/, 'content-type': /^application\/graphql-response\+json/ });
});

t.test('the official audit of GraphQL over HTTP: 61 of 61', async t => {
  const audits = serverAudits({ url: `${origin}/api/graphql` });
  t.equal(audits.length, 61);
  const results = await Promise.all(audits.map(audit => audit.fn()));
  for (const result of results) {
    const reason = 'reason' in result ? result.reason : '';
    t.equal(result.status, 'ok', `${result.id} ${result.name} ${reason}`);
  }
});
