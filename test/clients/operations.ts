// Code of a client project: test/scripts/client.test.ts writes the client beside it, compiles both and runs them.
import assert from 'node:assert/strict';
import type { components } from './api/api.js';
import { type ApiClient, walk } from './api/client.ts';

type User = components['schemas']['User'];
type Post = components['schemas']['Post'];

/** What must be there. */
function present<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}

export async function users(client: ApiClient): Promise<User> {
  const header = { 'Idempotency-Key': crypto.randomUUID() };
  const body = { name: 'Ada Lovelace', email: 'ada@example.com' };
  const created = await client.POST('/api/users', { params: { header }, body });
  const again = await client.POST('/api/users', { params: { header }, body });
  const ada: User = present(created.data);
  assert.deepEqual(again.data, ada);
  assert.equal(again.response.headers.get('Idempotency-Replayed'), 'true');

  const path = { user_id: ada.id };
  assert.deepEqual((await client.GET('/api/users/{user_id}', { params: { path } })).data, ada);
  const query = { email: ada.email, sort: '-createdAt', limit: 1 } as const;
  const found = await client.GET('/api/users', { params: { query } });
  assert.deepEqual(found.data?.data, [ada]);
  assert.deepEqual(found.data.meta, { page: 1, limit: 1, total: 1, totalPages: 1 });

  const change = { params: { path, header: { 'If-Match': '"1"' } }, body: { name: 'Ada King' } };
  assert.equal(present((await client.PATCH('/api/users/{user_id}', change)).data).version, 2);
  const late = await client.PATCH('/api/users/{user_id}', change);
  const refusal = present(late.error).error;
  assert.ok(refusal.status === 412);
  const current: number | undefined = refusal.details.version;
  assert.equal(current, 2);

  const whole = { params: { path }, body: { ...ada, name: 'Augusta', version: 2, updatedAt: 'then' } };
  const invalid = present((await client.PUT('/api/users/{user_id}', whole)).error).error;
  assert.ok(invalid.status === 400 && Array.isArray(invalid.details));
  assert.equal(invalid.details[0]?.path, '/updatedAt');
  const replaced = await client.PUT('/api/users/{user_id}', { params: { path }, body });
  assert.equal(present(replaced.data).name, 'Ada Lovelace');
  return present(replaced.data);
}

export async function posts(client: ApiClient, author: User): Promise<void> {
  const body = { title: 'Notes on the engine', authorId: author.id };
  const post: Post = present((await client.POST('/api/posts', { body })).data);
  const status: 'draft' | 'published' = post.status;
  assert.equal(status, 'draft');
  const path = { post_id: post.id };
  assert.deepEqual((await client.GET('/api/posts/{post_id}', { params: { path } })).data, post);
  const drafts = await client.GET('/api/posts', { params: { query: { status, author: author.id } } });
  assert.deepEqual(drafts.data?.data, [post]);
  const put = { params: { path }, body: { ...body, status: 'published' } } as const;
  assert.equal((await client.PUT('/api/posts/{post_id}', put)).data?.status, 'published');
  const patched = await client.PATCH('/api/posts/{post_id}', { params: { path }, body: { title: 'Notes' } });
  assert.equal(patched.data?.version, 3);

  const inUse = await client.DELETE('/api/users/{user_id}', { params: { path: { user_id: author.id } } });
  const conflict = present(inUse.error).error;
  assert.ok(conflict.status === 409 && conflict.details.code === 'user_has_posts');
  const count: number = conflict.details.posts;
  assert.equal(count, 1);
  const removed = await client.DELETE('/api/posts/{post_id}', {
    params: { path, header: { 'If-Match': '"3"' } },
  });
  assert.equal(removed.response.status, 204);
  assert.equal(removed.error, undefined);
  const gone = present((await client.GET('/api/posts/{post_id}', { params: { path } })).error).error;
  assert.ok(gone.status === 404 && gone.details.code === 'not_found');
}

export async function subscriptions(client: ApiClient): Promise<void> {
  const { data } = await client.GET('/api/subscriptions', { params: { query: { status: 'active' } } });
  const [subscription] = present(data).data;
  assert.equal(subscription?.customer, 'cus_1');
  const activatedAt: string | null = subscription.activatedAt;
  assert.ok(activatedAt);
  const path = { customer: 'cus_1' };
  const read = await client.GET('/api/subscriptions/{customer}', {
    params: { path, query: { provider: 'stripe' } },
  });
  assert.deepEqual(read.data, subscription);
  const several = await client.GET('/api/subscriptions/{customer}', { params: { path } });
  const conflict = present(several.error).error;
  assert.ok(conflict.status === 409);
  const providers: string[] = conflict.details.providers;
  assert.deepEqual(providers.toSorted(), ['paddle', 'stripe']);
}

/** The titles of all posts, by the cursors of a list. */
export async function titles(client: ApiClient): Promise<string[]> {
  const query = { sort: '-title', limit: 3 } as const;
  const list = walk(after => client.GET('/api/posts', { params: { query: { ...query, after } } }));
  const found: string[] = [];
  for await (const { title } of list) found.push(title);
  return found;
}

/** The error of a list that cannot be read. */
export async function errorOfWalk(client: ApiClient): Promise<unknown> {
  const list = walk(after => client.GET('/api/posts', { params: { query: { after, limit: 1000 } } }));
  return list.next().catch(error => error);
}

/** The code of a call without credentials, and the scope that a key for reading lacks. */
export async function refusals(anonymous: ApiClient, reader: ApiClient): Promise<string[]> {
  const { error: unknown } = await anonymous.GET('/api/users');
  assert.ok(unknown?.error.status === 401);
  const { error: limited } = await reader.POST('/api/users', {
    body: { name: 'Ada', email: 'a@example.com' },
  });
  assert.ok(limited?.error.status === 403);
  const { details } = limited.error;
  assert.ok(details.code === 'forbidden');
  const scope: 'read' | 'write' | 'admin' | 'own' = details.scope ?? 'own';
  return [unknown.error.details.code, scope];
}

/** How long a client must wait that has sent too many requests. */
export async function limit(client: ApiClient): Promise<number> {
  for (;;) {
    const { error } = await client.GET('/api/users');
    if (error?.error.status === 429) return error.error.details.retryAfter;
    assert.equal(error, undefined);
  }
}
