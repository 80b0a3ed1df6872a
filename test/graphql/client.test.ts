import { ClientError, GraphQLClient, gql } from 'graphql-request';
import t from 'tap';
import { build } from '../helper/app.ts';

const create = gql`
  mutation Create($input: UserCreateInput!) {
    createUser(input: $input) { id name }
  }
`;

t.test('a real client runs a mutation and a query, and gets an error as its own type', async t => {
  const { app } = await build(t);
  const client = new GraphQLClient(`${await app.listen({ port: 0, host: '127.0.0.1' })}/api/graphql`);
  const input = { name: 'Ada', email: 'ada@example.com' };
  const { createUser } = await client.request<{ createUser: { id: string } }>(create, { input });
  const found = await client.request('query($id: ID!) { user(id: $id) { name email posts { title } } }', {
    id: createUser.id,
  });
  t.same(found, { user: { ...input, posts: [] } });

  const error = await client.request(create, { input }).catch((thrown: ClientError) => thrown);
  if (!(error instanceof ClientError)) return t.fail('the client did not see the error');
  t.match(error.response.errors, [{ path: ['createUser'], extensions: { code: 'CONFLICT' } }]);
});
