import { createRequire } from 'node:module';
import t from 'tap';
import { openLog } from '../../src/core/log.ts';
import { build } from '../helper/app.ts';
import { buildGraphQL, fill } from '../helper/graphql.ts';

const { call, post } = await buildGraphQL(t);

// docs/decisions/08-graphql.md says why operations are not compiled: what is below failed while they were.

t.test('the compiler of Mercurius is not loaded', async t => {
  await post('{ usersCount }');
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  t.ok(loaded.some(file => file.includes('/node_modules/mercurius/')));
  t.notOk(loaded.some(file => file.includes('graphql-jit')));
});

t.test("null for a required place is the client's mistake, at its path", async t => {
  const lines: string[] = [];
  const log = openLog({ LOG_LEVEL: 'error' }, false, { write: (line: string) => void lines.push(line) });
  const { call, newUser } = await build(t, { log });
  const { id } = await newUser({ name: 'Ada' });
  const noId = 'Argument "id" of non-null type "ID!" must not be null.';
  const noCondition = 'Argument "if" of non-null type "Boolean!" must not be null.';
  for (const [query, data, message, path] of [
    ['query($n: ID = "x") { user(id: $n) { id } usersCount }', { user: null, usersCount: 1 }, noId, ['user']],
    [
      `mutation($n: ID = "x") { updateUser(id: "${id}", input: {}) { name } deletePost(id: $n) }`,
      { updateUser: { name: 'Ada' }, deletePost: null },
      noId,
      ['deletePost'],
    ],
    [
      'mutation($n: String = "x") { createUser(input: { name: $n, email: "a@b.c" }) { id } }',
      { createUser: null },
      'Argument "input" has invalid value {name: $n, email: "a@b.c"}.',
      ['createUser'],
    ],
    ['query($n: Boolean = true) { users { name @skip(if: $n) } }', null, noCondition, ['users', 0]],
    ['query($n: Boolean = true) { usersCount @include(if: $n) }', null, noCondition, undefined],
  ] as const) {
    const { body } = await call('POST', '/api/graphql', 200, { body: { query, variables: { n: null } } });
    const [{ locations, extensions, ...error }, ...others] = body.errors;
    t.same([body.data, error, others], [data, { message, ...(path && { path }) }, []], query);
    t.match(locations, [{ line: 1 }]);
    t.same(extensions, { code: 'BAD_USER_INPUT', requestId: extensions.requestId });
  }
  t.same(lines, [], 'the log has no error');
});

t.test(
  'null for @skip below a mutation is found when it was done, and an Idempotency-Key undoes it',
  async t => {
    const query = `mutation($n: Boolean = true, $email: String!) {
    createUser(input: { name: "Ada", email: $email }) { id @skip(if: $n) }
  }`;
    const create = async (email: string, headers = {}) => {
      const body = { query, variables: { n: null, email } };
      const answer = await call('POST', '/api/graphql', 200, { body, headers });
      t.match(answer.body, {
        data: { createUser: null },
        errors: [{ path: ['createUser'], locations: [{ line: 2, column: 70 }] }],
      });
      return (await call('GET', `/api/users?email=${email}`, 200)).body.data.length;
    };
    t.equal(await create('one@example.com'), 1);
    t.equal(await create('two@example.com', { 'idempotency-key': 'one' }), 0);
  },
);

t.test('a value of any length is not repeated as a whole', async t => {
  const create = `mutation($n: String = "x") { createUser(input: { name: $n, email: "${'x'.repeat(40_000)}" }) { id } }`;
  const { body, text } = await post(create, { n: null });
  t.match(body.errors, [{ message: /^Argument "input" has invalid value/ }]);
  t.ok(text.length < 1000, `${text.length} characters`);
});

/** Names that every plain object inherits. */
const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__'];
const withMember = (name: string, value: unknown) =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);

t.test('a name that every object inherits is a name like any other', async t => {
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
