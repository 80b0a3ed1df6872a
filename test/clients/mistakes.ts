// Nothing here may compile. The compiler reports a directive whose line compiles, so each of them is a check.
import type { components } from './api/api.js';
import type { ApiClient } from './api/client.ts';

export async function mistakes(client: ApiClient, user_id: string) {
  const body = { name: 'Ada', email: 'ada@example.com' };
  // @ts-expect-error a path that does not exist
  await client.GET('/api/user');
  // @ts-expect-error a member in place of a required one
  await client.POST('/api/users', { body: { name: 'Ada', emial: 'ada@example.com' } });
  // @ts-expect-error a value that the member cannot have
  await client.POST('/api/posts', { body: { title: 'Notes', authorId: user_id, status: 'hidden' } });
  // @ts-expect-error a query parameter that does not exist
  await client.GET('/api/posts', { params: { query: { auhtor: user_id } } });
  const path = { user_id };
  // @ts-expect-error a header that does not exist
  await client.DELETE('/api/users/{user_id}', { params: { path, header: { 'If-Mach': '"1"' } } });
  // @ts-expect-error it would leave out `data`
  await client.POST('/api/users', { params: { header: { Prefer: 'return=minimal' } }, body });

  const { data, error } = await client.POST('/api/users', { body });
  // @ts-expect-error there may be no `data`
  data.id;
  if (data) {
    // @ts-expect-error a member that does not exist
    data.mail;
    // @ts-expect-error a member that only the service writes
    data.id = user_id;
    return;
  }
  const { status, details } = error.error;
  // @ts-expect-error a status that the operation does not answer
  if (status === 404) return;
  // @ts-expect-error a code that the operation does not answer
  if (status === 409 && details.code === 'user_has_posts') return;
  // @ts-expect-error only one of its codes has a path
  if (status === 409) return details.path;
  const posts: components['schemas']['Post'][] = [];
  // @ts-expect-error the list may be empty
  return posts[0].title;
}
