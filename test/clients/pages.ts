// A page has the type of what its query asks for. As in mistakes.ts, each directive is a check.
import { type ApiClient, walk } from './api/client.ts';

export async function byNumber(client: ApiClient) {
  const { data: first } = await client.GET('/api/users');
  const { data: second } = await client.GET('/api/users', { params: { query: { page: 2 } } });
  const query = { status: 'published', limit: 5 } as const;
  const { data: filtered } = await client.GET('/api/posts', { params: { query } });
  if (!first || !second || !filtered) return;
  // @ts-expect-error a page by number has no cursor
  first.meta.next;
  // @ts-expect-error the same
  second.meta.next;
  const name: string | undefined = second.data[0]?.name;
  const total: number = first.meta.total + second.meta.total + filtered.meta.totalPages;
  return [name, total];
}

export async function byCursor(client: ApiClient, cursor: string) {
  const { data: after } = await client.GET('/api/users', { params: { query: { after: '', limit: 2 } } });
  const { data: before } = await client.GET('/api/posts', { params: { query: { before: cursor } } });
  if (!after || !before) return;
  // @ts-expect-error a page by cursor has no total
  after.meta.total;
  // @ts-expect-error the same
  before.meta.total;
  const next: string | null = after.meta.next;
  return [next, before.meta.previous, before.data[0]?.title];
}

/** Only the caller knows whether there is a cursor. */
export async function byEither(client: ApiClient, query: { limit: number; after?: string }) {
  const { data } = await client.GET('/api/users', { params: { query } });
  if (!data) return;
  // @ts-expect-error there may be a cursor
  data.meta.total;
  // @ts-expect-error there may be none
  data.meta.next;
  return 'total' in data.meta ? data.meta.total : data.meta.next;
}

export async function logs(client: ApiClient) {
  const { data: entries } = await client.GET('/api/audit');
  const { data: events } = await client.GET('/api/webhook-events', { params: { query: { limit: 1 } } });
  // @ts-expect-error a log has no total
  entries?.meta.total;
  // @ts-expect-error nor pages by number
  await client.GET('/api/webhook-events', { params: { query: { page: 1 } } });
  return [entries?.meta.next, events?.meta.previous, events?.data[0]?.type];
}

export async function* walks(client: ApiClient) {
  yield* walk(after => client.GET('/api/audit', { params: { query: { after } } }));
  // @ts-expect-error it would read the first page again and again
  yield* walk(() => client.GET('/api/users'));
}
