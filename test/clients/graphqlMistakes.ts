// As in mistakes.ts. `graphql.ts` is that of docs/client.md.
import type { ApiClient } from './api/client.ts';
import { graphql, run } from './graphql.ts';

const Author = graphql('query Author($id: ID!) { user(id: $id) { name createdAt posts { status } } }');
const Create = graphql('mutation Create($input: PostCreateInput!) { createPost(input: $input) { id } }');

export async function mistakes(client: ApiClient, id: string) {
  const { user } = await run(client, Author, { id });
  // @ts-expect-error there may be no such user
  user.name;
  // @ts-expect-error a field that the document does not select
  user?.email;
  const name: string | undefined = user?.name;
  const createdAt: string | undefined = user?.createdAt;
  const status: 'draft' | 'published' | undefined = user?.posts[0]?.status;
  // @ts-expect-error no variables
  await run(client, Author, {});
  // @ts-expect-error a variable that does not exist
  await run(client, Author, { id, name });
  // @ts-expect-error an input without its author
  await run(client, Create, { input: { title: 'Notes' } });
  // @ts-expect-error a value that the input cannot have
  await run(client, Create, { input: { title: 'Notes', authorId: id, status: 'hidden' } });
  const { users } = await run(client, graphql('{ users { nmae } }'), {});
  // @ts-expect-error a field that the schema does not have
  users[0]?.nmae.length;
  return [name, createdAt, status];
}
