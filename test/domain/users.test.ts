import { readFileSync } from 'node:fs';
import { buildSchema, type GraphQLObjectType } from 'graphql';
import t from 'tap';
import { users } from '#src/domain/users.ts';
import { build } from '#test/helper/app.ts';
import { testResource } from '#test/helper/resources/testResource.ts';

testResource(t, users);

t.test('the schema of GraphQL has users as the contract says', async t => {
  const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
  const typeOf = (type: string, field: string) =>
    String((schema.getType(type) as GraphQLObjectType).getFields()[field]?.type);
  t.same(
    ['id', 'name', 'email', 'version'].map(field => typeOf('User', field)),
    ['ID!', 'String!', 'String!', 'Int!'],
  );
  t.same([typeOf('Query', 'user'), typeOf('Query', 'users')], ['User', '[User!]!']);
});

t.test('an address belongs to one user, regardless of case, and is stored as given', async t => {
  const { call, newUser } = await build(t);
  const { id } = await newUser({ email: 'Ada+x@Example.com' });
  const body = { name: 'Ada', email: 'ADA+X@example.com' };
  t.match((await call('POST', '/api/users', 409, { body })).body.error.details, { code: 'email_taken' });
  t.equal((await call('GET', `/api/users/${id}`, 200)).body.email, 'Ada+x@Example.com');
  for (const email of ['Ada+x@Example.com', 'ada+x@example.com', 'ADA+X@EXAMPLE.COM'])
    t.match((await call('GET', `/api/users?${new URLSearchParams({ email })}`, 200)).body.data, [{ id }]);
});

t.test('a name has 1 to 200 characters, and an address is one, of at most 254', async t => {
  const { call, newUser } = await build(t);
  await newUser({ name: '😀'.repeat(200), email: `a@${'b.'.repeat(125)}c` });
  for (const wrong of [
    { name: '' },
    { name: 'x'.repeat(201) },
    { email: 'ada' },
    { email: `a@${'b.'.repeat(126)}c` },
  ]) {
    const body = { name: 'Ada', email: 'ada@example.com', ...wrong };
    const { error } = (await call('POST', '/api/users', 400, { body })).body;
    t.equal(error.details[0].path, `/${Object.keys(wrong)}`);
  }
});
