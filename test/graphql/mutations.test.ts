import t from 'tap';
import { buildGraphQL } from '../helper/graphql.ts';

const { ask, call, newUser, newPost } = await buildGraphQL(t);
const create = 'mutation($input: UserCreateInput!) { createUser(input: $input) { id name email } }';

t.test(
  'a replacement has the defaults of what it leaves out, and a deletion cascades when asked',
  async t => {
    const author = (await newUser()).id;
    const { id } = await newPost({ authorId: author, status: 'published' });
    const replace = 'replacePost(id: $id, input: { title: "B", authorId: $author }) { title status }';
    t.same(await ask(`mutation($id: ID!, $author: ID!) { ${replace} }`, { id, author }), {
      data: { replacePost: { title: 'B', status: 'draft' } },
    });
    const refused = await ask('mutation($author: ID!) { deleteUser(id: $author) }', { author });
    t.match(refused.errors, [
      { extensions: { code: 'CONFLICT', details: { code: 'user_has_posts', posts: 1 } } },
    ]);
    t.same(await ask('mutation($author: ID!) { deleteUser(id: $author, cascade: true) }', { author }), {
      data: { deleteUser: author },
    });
  },
);

t.test('an invalid input gets the same messages as in REST', async t => {
  const bad = { name: '', email: 'nobody\u0000' };
  const rest = await call('POST', '/api/users', 400, { body: bad });
  const { data, errors } = await ask(create, { input: bad });
  t.same(data, { createUser: null });
  t.equal(errors[0].extensions.code, 'BAD_USER_INPUT');
  t.same(
    errors[0].extensions.details,
    rest.body.error.details.map(({ path, message }: { path: string; message: string }) => ({
      path: `/input${path}`,
      message,
    })),
  );
  const [unknownAuthor] = (
    await ask(
      'mutation { createPost(input: { title: "A", authorId: "019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90" }) { id } }',
    )
  ).errors;
  t.same(unknownAuthor.extensions.details, [{ path: '/input/authorId', message: 'is the id of no user' }]);
});

t.test('a taken address is a conflict, and the other mutations keep their results', async t => {
  const answer = await ask(`mutation {
    a: createUser(input: { name: "A", email: "a@example.com" }) { name }
    b: createUser(input: { name: "B", email: "A@EXAMPLE.COM" }) { name }
    c: createUser(input: { name: "C", email: "c@example.com" }) { name }
  }`);
  t.same(answer.data, { a: { name: 'A' }, b: null, c: { name: 'C' } });
  t.match(answer.errors, [
    { path: ['b'], extensions: { code: 'CONFLICT', details: { code: 'email_taken', path: '/input/email' } } },
  ]);
});

t.test('a mutation with expectedVersion changes only that version', async t => {
  const { id } = await newUser();
  const path = `/api/users/${id}`;
  const { body: record } = await call('PATCH', path, 200, { body: { name: 'A' } });
  const inputs = {
    replaceUser: ', input: { name: "B", email: "b@example.com" }',
    updateUser: ', input: { name: "C" }',
    deleteUser: '',
  };
  const send = (field: keyof typeof inputs, expected: number | null) =>
    ask(
      `mutation($expected: Int) {
        ${field}(id: "${id}", expectedVersion: $expected${inputs[field]}) ${inputs[field] && '{ version }'}
      }`,
      { expected },
    );
  for (const field of ['replaceUser', 'updateUser', 'deleteUser'] as const)
    for (const wrong of [1, 3]) {
      const { data, errors } = await send(field, wrong);
      t.same(data, { [field]: null });
      const { code, version, details } = errors[0].extensions;
      t.same([code, version, details], ['CONFLICT', 2, { code: 'version_mismatch', version: 2 }]);
      t.match(errors[0].message, /version 2, which expectedVersion excludes/);
      t.same((await call('GET', path, 200)).body, record, 'nothing was written');
    }
  t.same((await send('replaceUser', 2)).data, { replaceUser: { version: 3 } });
  t.same((await send('updateUser', null)).data, { updateUser: { version: 4 } }, 'null is no condition');
  t.same((await send('deleteUser', 4)).data, { deleteUser: id });
  const { errors } = await send('deleteUser', 4);
  t.match(errors, [{ extensions: { code: 'NOT_FOUND' } }], 'absent is not a conflict');
});

t.test('an input that was read before another change is a CONFLICT with the current version', async t => {
  const { id, version, updatedAt } = await newUser();
  await call('PATCH', `/api/users/${id}`, 200, { body: { name: 'Theirs' } });
  const update =
    'mutation($id: ID!, $input: UserUpdateInput!) { updateUser(id: $id, input: $input) { name } }';
  for (const input of [{ version }, { updatedAt }, { version: 3 }])
    t.match((await ask(update, { id, input: { ...input, name: 'Mine' } })).errors, [
      { extensions: { code: 'CONFLICT', version: 2, details: { code: 'stale', version: 2 } } },
    ]);
  const current = await ask(update, { id, input: { version: 2, name: 'Mine' } });
  t.same(current, { data: { updateUser: { name: 'Mine' } } });
});
