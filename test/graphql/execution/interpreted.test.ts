import { createRequire } from 'node:module';
import t from 'tap';
import { openLog } from '../../../src/core/log.ts';
import { build } from '../../helper/app.ts';
import { buildGraphQL } from '../../helper/graphql.ts';

// Each of these failed while operations were compiled: docs/decisions/13-graphql.md says why they are not.

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

t.test('what a string says is never run', async t => {
  const { newUser, post, call } = await buildGraphQL(t);
  await newUser({ name: 'Ann' });
  const marks = [
    "__MAGIC_DATE__33a9e76d_02e0_4128_8e92_3530ad3da74d0).toISOString().replace(/.*/,'Ann'",
    '__MAGIC_NAN__57f286b9_4c20_487f_b409_79804ddcb4f8',
    '__MAGIC_PLUS_INFINITY__bb201c39_3333_4695_b4ad_7f1722e7aa7a',
    '"); process.exit(1); ("',
    '`; process.exit(1); ` // \u2028',
  ];
  for (const text of marks) {
    const query = `{ usersCount(name: ${JSON.stringify(text)}) }`;
    for (const _ of often) t.same((await post(query)).body, { data: { usersCount: 0 } }, text);
    const { id } = await newUser();
    const rename = `mutation { updateUser(id: "${id}", input: { name: ${JSON.stringify(text)} }) { name } }`;
    for (const _ of often) t.same((await post(rename)).body, { data: { updateUser: { name: text } } });
    t.equal((await call('GET', `/api/users/${id}`, 200)).body.name, text);
  }
});

t.test('a variable that is not sent has its default, and the mutation happens', async t => {
  const { post } = await buildGraphQL(t);
  const create =
    'mutation M($e: String!, $n: String! = "x") { createUser(input: { name: $n, email: $e }) { name email } }';
  for (const number of often) {
    const e = `user${number}@example.com`;
    t.same((await post(create, { e })).body, { data: { createUser: { name: 'x', email: e } } });
  }
  t.same((await post('{ usersCount }')).body, { data: { usersCount: often.length } });
});

t.test('a member of an input by a variable that is not sent is absent', async t => {
  const { newUser, post } = await buildGraphQL(t);
  const { id, email } = await newUser();
  const update =
    'mutation($id: ID!, $n: String, $e: String) { updateUser(id: $id, input: { name: $n, email: $e }) { name email } }';
  for (const number of often) {
    const name = `Ada ${number}`;
    t.same((await post(update, { id, n: name })).body, { data: { updateUser: { name, email } } });
  }
});

t.test('@skip and @include apply to one of two equal fields or spreads', async t => {
  const { newUser, post } = await buildGraphQL(t);
  await newUser({ name: 'Ada' });
  const query = `query($yes: Boolean!, $no: Boolean!) {
    users { name @skip(if: $yes) name }
    usersCount usersCount @include(if: $no)
    ...F @skip(if: $yes) ...F
    ... @include(if: $no) { again: usersCount } ... { again: usersCount }
  } fragment F on Query { postsCount }`;
  for (const _ of often)
    t.same((await post(query, { yes: true, no: false })).body, {
      data: { users: [{ name: 'Ada' }], usersCount: 1, postsCount: 0, again: 1 },
    });
  const field = (condition: string) =>
    `createUser(input: { name: "B", email: $email }) ${condition} { name email }`;
  const create = `mutation($email: String!, $yes: Boolean!) { ${field('@skip(if: $yes)')} ${field('')} }`;
  for (const number of often) {
    const email = `b${number}@example.com`;
    t.same((await post(create, { email, yes: true })).body, { data: { createUser: { name: 'B', email } } });
  }
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

t.test('members are in the order of the document, and errors at their places', async t => {
  const { newUser, post } = await buildGraphQL(t);
  const { id } = await newUser({ name: 'Ada' });
  const query = `{ c: usersCount ...F a: postsCount user(id: "${id}") { version name } }
    fragment F on Query { b: usersCount a: postsCount user(id: "${id}") { __typename version } }`;
  for (const _ of often)
    t.equal(
      (await post(query)).text,
      '{"data":{"c":1,"b":1,"a":0,"user":{"__typename":"User","version":1,"name":"Ada"}}}\n',
    );
  const wrong = `query($id: ID!) {
    one: user(id: $id) { posts(limit: 0) { id } }
    two: user(id: $id) { name posts(page: 0) { id } }
  }`;
  for (const _ of often) {
    const { data, errors } = (await post(wrong, { id })).body;
    t.same(data, { one: null, two: null });
    t.match(errors, [
      { path: ['one', 'posts'], locations: [{ line: 2, column: 26 }] },
      { path: ['two', 'posts'], locations: [{ line: 3, column: 31 }] },
    ]);
  }
});
