// Each error has the type of what its operation can answer. The first two functions are also run.
import { type ApiClient, walk } from './api/client.ts';

/** The code of a call without credentials, and the scope that a key for reading lacks. */
export async function refusals(anonymous: ApiClient, reader: ApiClient) {
  const { error: unknown } = await anonymous.GET('/api/users');
  const body = { name: 'Ada', email: 'a@example.com' };
  const { error: limited } = await reader.POST('/api/users', { body });
  if (unknown?.error.status !== 401 || limited?.error.status !== 403) return [];
  const scope: 'read' | 'write' | 'admin' | 'own' | undefined = limited.error.details.scope;
  return [unknown.error.details.code, scope];
}

/** The error of a list that cannot be read. */
export async function errorOfWalk(client: ApiClient): Promise<unknown> {
  const list = walk(after => client.GET('/api/posts', { params: { query: { after, limit: 1000 } } }));
  return list.next().catch(error => error);
}

export async function details(client: ApiClient, user_id: string) {
  const params = { path: { user_id }, header: { 'If-Match': '"1"' } };
  const { data, error: late } = await client.PATCH('/api/users/{user_id}', { params, body: { name: 'Ada' } });
  // What was read can be sent back.
  if (data) await client.PUT('/api/users/{user_id}', { params, body: { ...data, name: 'Augusta' } });
  if (late?.error.status === 412) late.error.details.version satisfies number | undefined;
  if (late?.error.status === 400 && Array.isArray(late.error.details))
    late.error.details[0]?.path satisfies string | undefined;

  const { error: inUse } = await client.DELETE('/api/users/{user_id}', { params });
  if (inUse?.error.status === 409 && inUse.error.details.code === 'user_has_posts')
    inUse.error.details.posts satisfies number;

  const path = { customer: 'cus_1' };
  const { error: several } = await client.GET('/api/subscriptions/{customer}', { params: { path } });
  if (several?.error.status === 409) several.error.details.providers satisfies string[];
}
