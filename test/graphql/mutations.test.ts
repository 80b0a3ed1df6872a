// runs: also on embedded
import t from 'tap';
import { buildGraphQL } from '#test/helper/graphql.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

const { ask, call, newUser, make } = await buildGraphQL(t);
const create = 'mutation($input: UserCreateInput!) { createUser(input: $input) { id name email } }';

t.test(
  'a replacement has the defaults of what it leaves out, and a deletion cascades when asked',
  async t => {
    const { id, burrowId } = await make(specimen);
    const replace =
      'replaceSpecimen(id: $id, input: { label: "B", burrowId: $burrowId }) { label grade isWet bones weight }';
    t.same(await ask(`mutation($id: ID!, $burrowId: ID!) { ${replace} }`, { id, burrowId }), {
      data: { replaceSpecimen: { label: 'B', grade: 'rough', isWet: false, bones: 0, weight: null } },
    });
    const refused = await ask('mutation($id: ID!) { deleteBurrow(id: $id) }', { id: burrowId });
    const details = { code: 'burrow_has_specimens', specimens: 1 };
    t.match(refused.errors, [{ extensions: { code: 'CONFLICT', details } }]);
    t.same(await ask('mutation($id: ID!) { deleteBurrow(id: $id, cascade: true) }', { id: burrowId }), {
      data: { deleteBurrow: burrowId },
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
  const lost = 'createBurrow(input: { label: "A", parentId: "019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90" }) { id }';
  t.match((await ask(`mutation { ${lost} }`)).errors, [
    { extensions: { details: [{ path: '/input/parentId', message: 'is the id of no burrow' }] } },
  ]);
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
  const [replace, update] = ['replaceUser', 'updateUser'].map(
    field =>
      `${field}(id: $id, expectedVersion: $expected, input: { name: "B", email: "b@b.c" }) { version }`,
  );
  const remove = 'deleteUser(id: $id, expectedVersion: $expected)';
  const send = (field = '', expected: number | null = null) =>
    ask(`mutation($id: ID!, $expected: Int) { field: ${field} }`, { id, expected });
  for (const field of [replace, update, remove])
    for (const wrong of [1, 3]) {
      const { data, errors } = await send(field, wrong);
      t.same(data, { field: null });
      const details = { code: 'version_mismatch', version: 2 };
      t.match(errors, [
        { message: /2, which expectedVersion/, extensions: { code: 'CONFLICT', version: 2, details } },
      ]);
      t.same((await call('GET', path, 200)).body, record, 'nothing was written');
    }
  t.same((await send(replace, 2)).data, { field: { version: 3 } });
  t.same((await send(update, null)).data, { field: { version: 3 } }, 'null is no condition');
  t.same((await send(remove, 3)).data, { field: id });
  t.match((await send(remove, 3)).errors, [{ extensions: { code: 'NOT_FOUND' } }], 'absent is no conflict');
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

t.test('a mutation sees what an earlier one in the same request wrote', async t => {
  const { id: parent } = await make(burrow, { label: 'Oak' });
  const { id } = await make(burrow, { label: 'A', parentId: parent });
  const { data } = await ask(
    `mutation($id: ID!, $parent: ID!) {
      before: updateBurrow(id: $id, input: { label: "B" }) { parent { label } }
      rename: updateBurrow(id: $parent, input: { label: "Elm" }) { burrows { label } }
      after: updateBurrow(id: $id, input: { label: "C" }) { label parent { label } }
    }`,
    { id, parent },
  );
  t.same(data, {
    before: { parent: { label: 'Oak' } },
    rename: { burrows: [{ label: 'B' }] },
    after: { label: 'C', parent: { label: 'Elm' } },
  });
});
