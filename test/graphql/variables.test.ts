import t from 'tap';
import { openLog } from '#src/telemetry/log.ts';
import { build } from '#test/helper/app.ts';
import { buildGraphQL, fill } from '#test/helper/graphql.ts';

const { call, post } = await buildGraphQL(t);

// docs/decisions/08-graphql.md says why operations are not compiled: the cases below failed while they were.

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
      `mutation($n: ID = "x") { updateUser(id: "${id}", input: {}) { name } deleteBurrow(id: $n) }`,
      { updateUser: { name: 'Ada' }, deleteBurrow: null },
      noId,
      ['deleteBurrow'],
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

t.test(
  'a name that every object inherits is a name like any other (bug: it bypassed the limit of cost)',
  async t => {
    const { ask, errorsOf, database } = await buildGraphQL(t, { GRAPHQL_MAX_COST: 500 });
    await fill(database, 30, 0);
    const cost = [{ extensions: { code: 'COST_LIMIT_EXCEEDED', maximum: 500 } }];
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__']) {
      const given = (value: number) => JSON.parse(`{ "${name}": ${value} }`);
      const list = `query ${name}($${name}: Int = 2) { burrows(limit: $${name}) { ...${name} } }
      fragment ${name} on Burrow { ${name}: burrows { parent { burrows { id } } } }`;
      const lengthOf = async (variables = {}) => (await ask(list, variables)).data.burrows.length;
      t.same([await lengthOf(), await lengthOf(given(1))], [2, 1], name);
      t.match(await errorsOf(list.replace('= 2', '= 100')), cost, name);
      t.match(await errorsOf(list, given(100)), cost, name);
      const { data } = await ask(`{ burrows(limit: 1) { ${name}: label } }`);
      t.same(Object.entries(data.burrows[0]), [[name, 'Burrow 1']]);
    }
  },
);
