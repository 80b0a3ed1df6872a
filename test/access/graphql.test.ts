import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLField,
  getNamedType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import t from 'tap';
import { schemaText } from '../../plugins/graphql/schema.ts';
import { ladder } from '../../schemas/apiKey.ts';
import { makeToken } from '../../src/access/apiKeyToken.ts';
import { newId } from '../../src/core/ids.ts';
import { graphqlParts, recordResources } from '../../src/resources.ts';
import { bearer, makeKey, openIssuer, seconds } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { openTestDatabase } from '../helper/database.ts';
import { fill } from '../helper/graphql.ts';
import { type Caller, newBody } from '../helper/records.ts';

const id = '019aa5d0-0001-7000-8000-000000000001';
const samples: Record<string, unknown> = { id, customer: 'cus_1' };

/** An operation with a field and its required arguments, each with a value that passes validation. */
async function operationOf(
  call: Caller,
  kind: 'query' | 'mutation',
  field: GraphQLField<unknown, unknown>,
): Promise<{ query: string; variables: object }> {
  const required = field.args.filter(
    ({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined,
  );
  const resource = recordResources.find(({ title }) => field.name.endsWith(title));
  const variables: Record<string, unknown> = {};
  for (const { name } of required)
    variables[name] = name === 'input' && resource ? await newBody(call, resource) : samples[name];
  const list = (item: (argument: GraphQLArgument) => string, around: (items: string) => string) =>
    required.length > 0 ? around(required.map(item).join(', ')) : '';
  const declared = list(
    ({ name, type }) => `$${name}: ${type}`,
    items => `(${items})`,
  );
  const given = list(
    ({ name }) => `${name}: $${name}`,
    items => `(${items})`,
  );
  const selection = isObjectType(getNamedType(field.type)) ? ' { __typename }' : '';
  return { query: `${kind}${declared} { field: ${field.name}${given}${selection} }`, variables };
}

t.test('every operation admits exactly the credentials that its kind allows', async t => {
  const database = await openTestDatabase(t);
  await fill(database, 1, 1);
  const issuer = await openIssuer(t);
  const { app } = await build(t, { database, settings: issuer.settings });
  const { app: open, call } = await build(t, { database });
  const [read, write, admin] = await Promise.all(ladder.map(scope => makeKey(database, [scope])));
  const table: { name: string; headers: Record<string, string>; allowed: readonly string[] }[] = [
    { name: 'nothing', headers: {}, allowed: [] },
    { name: 'an unknown key', headers: bearer(makeToken(newId(Date.now()))), allowed: [] },
    { name: 'an expired token', headers: bearer(await issuer.sign({ exp: seconds(-99) })), allowed: [] },
    { name: 'read', headers: bearer(read?.key ?? ''), allowed: ['query'] },
    { name: 'write', headers: bearer(write?.key ?? ''), allowed: ['query', 'mutation'] },
    { name: 'admin', headers: bearer(admin?.key ?? ''), allowed: ['query', 'mutation'] },
    {
      name: 'a token',
      headers: bearer(await issuer.sign({ scope: 'write' })),
      allowed: ['query', 'mutation'],
    },
  ];
  const schema = buildSchema(schemaText(graphqlParts));
  // Nobody is behind a key of these scopes: test/access/me.test.ts.
  const ofPersons = ['me', 'registerMe'];
  const fields = [
    ...Object.values(schema.getQueryType()?.getFields() ?? {}).map(field => ['query', field] as const),
    ...Object.values(schema.getMutationType()?.getFields() ?? {}).map(field => ['mutation', field] as const),
  ];
  t.ok(fields.length >= 19, `${fields.length} operations`);
  const send = (to: typeof app, payload: object, headers = {}) =>
    to.inject({ method: 'POST', url: '/api/graphql', headers, payload });

  for (const [kind, field] of fields.filter(([, { name }]) => !ofPersons.includes(name))) {
    const wrong: string[] = [];
    const anyone = (await send(open, await operationOf(call, kind, field))).json();
    const codes = (errors: { extensions: { code: string } }[] = []) => errors.map(one => one.extensions.code);
    if (codes(anyone.errors).some(code => /UNAUTH|FORBID|BAD_|VALID/.test(code)))
      wrong.push('refused by an open service');
    for (const { name, headers, allowed } of table) {
      const reply = await send(app, await operationOf(call, kind, field), headers);
      const body = reply.json();
      const [code] = codes(body.errors);
      if (allowed.length === 0) {
        const isUnauthenticated = reply.statusCode === 401 && code === 'UNAUTHENTICATED' && !('data' in body);
        if (!isUnauthenticated || !reply.headers['www-authenticate']) wrong.push(`${name}: ${reply.body}`);
      } else if (allowed.includes(kind)) {
        if (reply.statusCode !== 200 || code === 'FORBIDDEN' || code === 'UNAUTHENTICATED')
          wrong.push(`${name}: ${reply.body}`);
      } else if (code !== 'FORBIDDEN' || body.data.field !== null || body.errors[0].path[0] !== 'field')
        wrong.push(`${name}: ${reply.body}`);
    }
    t.same(wrong, [], `${kind} ${field.name}`);
  }
});

t.test('each forbidden field fails by itself and names the scope it needs', async t => {
  const { call, database } = await build(t, { settings: { AUTH_MODE: 'required' } });
  const headers = bearer((await makeKey(database, ['read'])).key);
  // The scope comes before the input, which is wrong.
  const query = `mutation { one: createUser(input: { name: "", email: "a@b.example" }) { id } two: deletePost(id: "${id}") }`;
  const { body } = await call('POST', '/api/graphql', 200, { headers, body: { query } });
  t.same(body.data, { one: null, two: null });
  t.match(body.errors, [
    { path: ['one'], extensions: { code: 'FORBIDDEN', details: { scope: 'write' } } },
    { path: ['two'], extensions: { code: 'FORBIDDEN' } },
  ]);
});

t.test('a token without any scope gets 403 for the whole request', async t => {
  const issuer = await openIssuer(t);
  const { call } = await build(t, { settings: issuer.settings });
  const headers = bearer(await issuer.sign({ scope: 'openid' }));
  const { body, headers: answer } = await call('POST', '/api/graphql', 403, {
    headers,
    body: { query: '{ usersCount }' },
  });
  t.match(body.errors, [{ extensions: { code: 'FORBIDDEN', details: { scope: 'read' } } }]);
  t.match(answer['www-authenticate'], 'scope="read"');
});

t.test('a GraphQL request is charged for as many requests as REST would need', async t => {
  const database = await openTestDatabase(t);
  await fill(database, 300, 2);
  const { app } = await build(t, { database, settings: { RATE_LIMIT_MAX: 100 } });
  let left = 100;
  async function price(query: string, status = 200) {
    const reply = await app.inject({ method: 'POST', url: '/api/graphql', payload: { query } });
    t.equal(reply.statusCode, status, query);
    const before = left;
    left = Number(reply.headers['ratelimit-remaining']);
    return { paid: before - left, body: reply.json() };
  }
  t.equal((await price('{ usersCount }')).paid, 1);
  t.equal(
    (await price('{ a: usersCount b: usersCount ...F } fragment F on Query { c: usersCount }')).paid,
    3,
  );
  t.equal((await price('{ users(limit: 100) { id } }')).paid, 1, 'a page is one request');
  t.equal((await price('{ users(limit: 100) { id } posts(limit: 100) { author { name } } }')).paid, 3);
  t.equal((await price('{ users { id } }')).paid, 3, 'the charge is for what was read, not for the estimate');
  t.equal((await price('{ users { posts { id } } }')).paid, 9);
  t.equal((await price('mutation { a: deletePost(id: "x") b: deletePost(id: "y") }')).paid, 2);
  const many = Array.from({ length: 30 }, (_, i) => `a${i}: usersCount`).join(' ');
  for (let i = 0; i < 2; i++) t.equal((await price(`{ ${many} }`)).paid, 30);
  t.equal(left, 18);
  const { body } = await price(`{ ${many} }`, 429);
  t.match(body, { errors: [{ extensions: { code: 'RATE_LIMITED', details: { retryAfter: Number } } }] });
  t.notOk('data' in body);
});
