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
