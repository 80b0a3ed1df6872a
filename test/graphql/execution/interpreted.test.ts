import { createRequire } from 'node:module';
import t from 'tap';
import { openLog } from '../../../src/core/log.ts';
import { build } from '../../helper/app.ts';
import { buildGraphQL } from '../../helper/graphql.ts';

// Each of these failed while operations were compiled: docs/decisions/08-graphql.md says why they are not.

const often = Array.from({ length: 10 }, (_, index) => index);

t.test('nothing compiles an operation, however often it runs', async t => {
  const { newUser, post } = await buildGraphQL(t);
  const { id } = await newUser();
  const query = 'query One($id: ID!) { user(id: $id) { name posts { title } } }';
  await post(query, { id });
  const made: unknown[] = [];
  const keep = (_target: unknown, args: unknown[]) => {
    made.push(args);
    return () => undefined;
  };
  t.intercept(globalThis, 'Function', { value: new Proxy(Function, { apply: keep, construct: keep }) });
  for (const _ of often)
    t.same((await post(query, { id })).body, { data: { user: { name: 'Ada Lovelace', posts: [] } } });
  t.same(made, [], 'no function is made from text');
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  t.ok(loaded.some(file => file.includes('/node_modules/mercurius/')));
  t.same(
    loaded.filter(file => file.includes('graphql-jit')),
    [],
    'the compiler is not loaded',
  );
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
  ] as const)
    for (const _ of often) {
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
    const { call } = await build(t);
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
  const { post } = await buildGraphQL(t);
  const create = `mutation($n: String = "x") { createUser(input: { name: $n, email: "${'x'.repeat(40_000)}" }) { id } }`;
  const { body, text } = await post(create, { n: null });
  t.match(body.errors, [{ message: /^Argument "input" has invalid value/ }]);
  t.ok(text.length < 1000, `${text.length} characters`);
});
