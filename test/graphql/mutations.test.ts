import t from 'tap';
import { buildGraphQL } from '../helper/graphql.ts';

const create = 'mutation($input: UserCreateInput!) { createUser(input: $input) { id name email } }';
const ada = { name: 'Ada', email: 'ada@example.com' };

t.test('a user and a post are created, replaced, updated and deleted', async t => {
  const { ask } = await buildGraphQL(t);
  const { data } = await ask(create, { input: ada });
  const { id } = data.createUser;
  t.same(data.createUser, { id, ...ada });
  const replace = `mutation($id: ID!) { replaceUser(id: $id, input: { name: "Countess", email: "c@example.com" }) { name } }`;
  t.same(await ask(replace, { id }), { data: { replaceUser: { name: 'Countess' } } });
  const update = 'mutation($id: ID!) { updateUser(id: $id, input: { name: "Ada" }) { name email } }';
  t.same(await ask(update, { id }), { data: { updateUser: { name: 'Ada', email: 'c@example.com' } } });

  const written = await ask(
    'mutation($id: ID!) { createPost(input: { title: "A", authorId: $id }) { id status author { name } } }',
    { id },
  );
  const post = written.data.createPost;
  t.match(post, { status: 'draft', author: { name: 'Ada' } });
  const publish = 'mutation($id: ID!) { updatePost(id: $id, input: { status: published }) { status } }';
  t.same(await ask(publish, { id: post.id }), { data: { updatePost: { status: 'published' } } });
  const again =
    'mutation($id: ID!, $by: ID!) { replacePost(id: $id, input: { title: "B", authorId: $by }) { title status } }';
  t.same(
    await ask(again, { id: post.id, by: id }),
    { data: { replacePost: { title: 'B', status: 'draft' } } },
    'optional members fall back to their defaults, as with PUT',
  );

  const remove = 'mutation($id: ID!) { deleteUser(id: $id) }';
  t.match(await ask(remove, { id }), {
    data: { deleteUser: null },
    errors: [{ extensions: { code: 'CONFLICT', details: { code: 'user_has_posts', posts: 1 } } }],
  });
  t.same(await ask('mutation($id: ID!) { deletePost(id: $id) }', { id: post.id }), {
    data: { deletePost: post.id },
  });
  t.same(await ask('mutation($id: ID!) { deleteUser(id: $id, cascade: true) }', { id }), {
    data: { deleteUser: id },
  });
  t.match(await ask(remove, { id }), {
    errors: [{ message: 'User not found.', path: ['deleteUser'], extensions: { code: 'NOT_FOUND' } }],
  });
});

t.test('an invalid input gets the same messages as in REST', async t => {
  const { ask, call } = await buildGraphQL(t);
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

t.test('an explicit null is refused, as in a merge patch', async t => {
  const { ask } = await buildGraphQL(t);
  const { data } = await ask(create, { input: ada });
  const { errors } = await ask('mutation($id: ID!) { updateUser(id: $id, input: { name: null }) { id } }', {
    id: data.createUser.id,
  });
  t.match(errors, [{ extensions: { code: 'BAD_USER_INPUT', details: [{ path: '/input/name' }] } }]);
});

t.test('a taken address is a conflict, and the other mutations keep their results', async t => {
  const { ask } = await buildGraphQL(t);
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

t.test('a read-only member may be repeated but not changed', async t => {
  const { ask } = await buildGraphQL(t);
  const { data } = await ask(create, { input: ada });
  const update =
    'mutation($id: ID!, $input: UserUpdateInput!) { updateUser(id: $id, input: $input) { name } }';
  const { id } = data.createUser;
  t.same(await ask(update, { id, input: { id, name: 'B' } }), { data: { updateUser: { name: 'B' } } });
  t.match(await ask(update, { id, input: { createdAt: '2001-01-01T00:00:00Z' } }), {
    errors: [{ extensions: { code: 'BAD_USER_INPUT', details: [{ path: '/input/createdAt' }] } }],
  });
});

/** The fields of each resource, with `$expected` in the arguments. */
const writesOf = {
  User: { replace: '{ name: "B", email: "b@example.com" }', update: '{ name: "C" }' },
  Post: { replace: '{ title: "B", authorId: $author }', update: '{ title: "C" }' },
};
for (const [type, inputs] of Object.entries(writesOf))
  t.test(`${type}: a mutation with expectedVersion changes that version alone`, async t => {
    const { ask, newUser, newPost, call } = await buildGraphQL(t);
    const author = (await newUser()).id;
    const { id } = type === 'User' ? await newUser() : await newPost({ authorId: author });
    const path = `/api/${type.toLowerCase()}s/${id}`;
    const declared = '$id: ID!, $expected: Int, $author: ID';
    const send = (verb: 'replace' | 'update' | 'delete', expected?: number | null) => {
      const input = verb === 'delete' ? '' : `, input: ${inputs[verb]}`;
      const used = input.includes('$author') ? declared : declared.replace(', $author: ID', '');
      const field = `${verb}${type}(id: $id, expectedVersion: $expected${input}) ${input && '{ version }'}`;
      const variables = {
        id,
        ...(used === declared && { author }),
        ...(expected !== undefined && { expected }),
      };
      return ask(`mutation(${used.replace('$author: ID', '$author: ID!')}) { ${field} }`, variables);
    };
    await call('PATCH', path, 200, { body: type === 'User' ? { name: 'A' } : { title: 'A' } });
    const { body: record } = await call('GET', path, 200);
    for (const verb of ['replace', 'update', 'delete'] as const)
      for (const wrong of [1, 3, 0, -1, 2_147_483_647]) {
        const { data, errors } = await send(verb, wrong);
        t.same(data, { [`${verb}${type}`]: null });
        const { code, version, details } = errors[0].extensions;
        t.same([code, version, details], ['CONFLICT', 2, { code: 'version_mismatch', version: 2 }]);
        t.match(errors[0].message, /version 2, which expectedVersion excludes/);
        t.same((await call('GET', path, 200)).body, record, 'nothing was written');
      }
    t.same((await send('replace', 2)).data, { [`replace${type}`]: { version: 3 } });
    t.same((await send('update', 3)).data, { [`update${type}`]: { version: 4 } });
    t.same(
      (await send('replace', null)).data,
      { [`replace${type}`]: { version: 5 } },
      'null is no condition',
    );
    t.same((await send('update')).data, { [`update${type}`]: { version: 6 } });
    t.match((await send('delete', 5)).errors, [{ extensions: { code: 'CONFLICT', version: 6 } }]);
    t.same((await send('delete', 6)).data, { [`delete${type}`]: id });
    t.match(
      (await send('delete', 6)).errors,
      [{ extensions: { code: 'NOT_FOUND' } }],
      'absent is not a conflict',
    );
  });

t.test('an input that was read before another change is a CONFLICT with the current version', async t => {
  const { ask, newUser, call } = await buildGraphQL(t);
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
