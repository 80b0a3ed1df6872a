import t from 'tap';
import { build } from '../helper/app.ts';
import { buildGraphQL, fill } from '../helper/graphql.ts';

/** Names that every plain object inherits. */
const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__'];
const withMember = (name: string, value: unknown) =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);

t.test('REST: a name that every object inherits is a name like any other', async t => {
  const { app, call, newUser } = await build(t);
  const { id } = await newUser();
  for (const name of inherited) {
    for (const [method, url, body] of [
      ['GET', `/api/users?${name}=1`],
      ['GET', `/api/posts?page=1&${name}=true`],
      ['GET', `/api/users?sort=${name}`],
      ['GET', `/api/posts?status=${name}`],
      ['GET', `/api/users/${id}?${name}=`],
      ['GET', `/api/audit?action=${name}`],
      ['GET', `/api/webhook-events?${name}=x`],
      ['GET', `/api/graphql?query={usersCount}&${name}=x`],
      ['POST', '/api/users', { ...withMember(name, 1), name: 'Ada', email: 'ada@example.com' }],
      ['POST', '/api/users', withMember(name, { name: 'Ada', email: 'ada@example.com' })],
      ['PATCH', `/api/users/${id}`, withMember(name, { name: 'Eve' })],
      ['PUT', `/api/users/${id}`, { ...withMember(name, null), name: 'Ada', email: 'ada@example.com' }],
      ['POST', '/api/posts', { title: 'One', authorId: id, status: name }],
      ['POST', '/api/keys', { name: 'Key', scopes: [name] }],
      ['POST', '/api/webhook-events/replay', withMember(name, 'x')],
      ['POST', '/api/graphql', { ...withMember(name, 'x'), query: '{ usersCount }' }],
    ] as const)
      await call(method, url, 400, body && { body });
    for (const path of ['users', 'posts', 'subscriptions', 'webhook-events'])
      await call('GET', `/api/${path}/${name}`, 404);
    for (const path of [`/${name}`, `/api/${name}`, `/docs/${name}`, `/health/${name}`])
      t.equal((await app.inject(path)).statusCode, 404, path);
    await call('POST', `/api/webhooks/${name}`, 404, { raw: '{}' });
    const headers = Object.fromEntries(inherited.map(each => [each, 'x']));
    await call('GET', '/api/users', 200, { headers: { ...headers, 'x-request-id': name, accept: name } });
    await call('POST', '/api/users', 415, { raw: '{}', headers: { 'content-type': `application/${name}` } });
  }
  t.match((await call('GET', `/api/users/${id}`, 200)).body, { name: 'Ada Lovelace' });
  t.match((await call('GET', '/api/users', 200)).body.meta, { total: 1 }, 'nothing was written');
});

t.test('GraphQL: a name that every object inherits is a name like any other', async t => {
  const { ask, errorsOf, post, database } = await buildGraphQL(t);
  await fill(database, 30, 0);
  const usersOf = async (query: string, variables?: Record<string, unknown>) =>
    (await ask(query, variables)).data.users.length;
  for (const name of inherited) {
    const list = (type: string) => `query($${name}: ${type}) { users(limit: $${name}) { id } }`;
    t.equal(await usersOf(list('Int')), 30);
    t.equal(await usersOf(list('Int = 2')), 2);
    t.equal(await usersOf(list('Int = 2'), withMember(name, 3)), 3);
    t.equal(await usersOf(list('Int!'), withMember(name, 3)), 3);
    t.match(await errorsOf(list('Int!')), [{ extensions: { code: 'BAD_USER_INPUT' } }]);
    const { data } = await ask(`query ${name} { ${name}: usersCount }`);
    t.same(Object.entries(data), [[name, 30]]);
    const nested = await ask(
      `{ ...${name} } fragment ${name} on Query { users(limit: 1) { ${name}: name } }`,
    );
    t.same(Object.entries(nested.data.users[0]), [[name, 'User 1']]);
    for (const query of [
      `{ ${name} }`,
      `{ users(${name}: 1) { id } }`,
      `{ users(sort: ${name}) { id } }`,
      `{ users { id ... on ${name} { id } } }`,
      `{ usersCount @${name} }`,
      `query($a: ${name}) { users(limit: $a) { id } }`,
      `mutation { createUser(input: { name: "A", email: "a@example.com", ${name}: 1 }) { id } }`,
    ])
      t.match(await errorsOf(query), [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }], query);
  }
  for (const name of inherited) {
    t.same(await ask(`{ users(name: "${name}") { id } }`), { data: { users: [] } });
    const create = 'mutation($input: UserCreateInput!) { createUser(input: $input) { id } }';
    const input = { ...withMember(name, 'x'), name: 'Ada', email: 'ada@example.com' };
    t.match((await post(create, { input })).body, { errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
    t.same(await ask('{ usersCount }', withMember(name, 1)), { data: { usersCount: 30 } });
  }
});

t.test('bug: a missing variable with an inherited name bypassed the limit of cost', async t => {
  const { errorsOf } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 500 });
  const cost = [{ extensions: { code: 'COST_LIMIT_EXCEEDED', maximum: 500 } }];
  for (const name of ['limit', 'toString', 'constructor', 'hasOwnProperty']) {
    const query = `query($${name}: Int = 100) { users(limit: $${name}) { posts { author { posts { id } } } } }`;
    t.match(await errorsOf(query), cost, name);
    t.match(await errorsOf(query.replace(' = 100', ''), { [name]: 100 }), cost, name);
  }
});
