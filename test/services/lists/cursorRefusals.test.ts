import t from 'tap';
import { posts } from '../../../drizzle/tables/posts.ts';
import { users } from '../../../drizzle/tables/users.ts';
import { webhookEvents } from '../../../drizzle/tables/webhookEvents.ts';
import type { Context } from '../../../src/core/context.ts';
import { firstId, lastId, newId } from '../../../src/core/ids.ts';
import { orm } from '../../../src/database/connection.ts';
import { makeCursor } from '../../../src/services/lists/cursors.ts';
import { pagedList } from '../../../src/services/lists/pagedList.ts';
import type { CursorPage } from '../../../src/services/lists/pages.ts';
import { listPosts } from '../../../src/services/posts.ts';
import { listSubscriptions } from '../../../src/services/subscriptions/read.ts';
import { inside } from '../../helper/access.ts';
import { openTestDatabase } from '../../helper/database.ts';

const database = await openTestDatabase(t);
const context = inside(database);
const db = orm(database.writes);
const start = Date.UTC(2026, 0);
const at = (milliseconds: number) => new Date(start + milliseconds).toISOString();
const record = (i: number) => ({ id: newId(start + i), createdAt: at(i), updatedAt: at(i) });

const author = newId(start);
await db.insert(users).values({ ...record(0), id: author, name: 'Ada', email: 'ada@example.com' });
await db.insert(posts).values(
  Array.from({ length: 7 }, (_, i) => ({
    ...record(i),
    title: `${i}`,
    status: 'draft' as const,
    authorId: author,
  })),
);

type List = (context: Context, query: object) => Promise<unknown>;

t.test('a cursor fits its own list, sort and filters, and any page size', async t => {
  const mine = { limit: 2, sort: 'title', status: 'draft' } as const;
  const { next } = (await listPosts(context, { ...mine, after: '' })).meta as { next: string };
  t.equal((await listPosts(context, { ...mine, limit: 5, after: next })).data.length, 5);
  const wrong = 'is not a cursor of this list with these filters and this sort';
  for (const [name, list, change, message = wrong] of [
    ['after', listPosts, { sort: '-title', after: next }],
    ['after', listPosts, { sort: 'createdAt', after: next }],
    ['after', listPosts, { status: 'published', after: next }],
    ['after', listPosts, { status: undefined, after: next }],
    ['after', listPosts, { author, after: next }],
    ['after', listPosts, { createdSince: at(0), after: next }],
    ['after', listSubscriptions, { sort: 'customer', after: next }],
    ['after', listPosts, { after: `${next}A` }],
    ['before', listPosts, { before: next.slice(0, -2) }],
    ['before', listPosts, { before: 'x' }],
    ['before', listPosts, { after: '', before: '' }, 'cannot be combined with "after"'],
    ['page', listPosts, { after: '', page: 1 }, 'cannot be combined with "after"'],
    ['page', listPosts, { before: next, page: 2 }, 'cannot be combined with "before"'],
    ['createdSince', listPosts, { after: '', createdSince: '0000-01-01T00:00:00Z' }, /between the years/],
    ['createdBefore', listPosts, { createdBefore: '0000-01-01T00:00:00Z' }, /between the years/],
  ] as const)
    await t.rejects(
      (list as List)(context, { ...mine, ...change }),
      { code: 'invalid', details: [{ in: 'query', path: `/${name}`, message }] },
      JSON.stringify(change).slice(0, 80),
    );
});

t.test('a list may be sorted by numbers, and a forged cursor with a word for one is refused', async t => {
  const list = pagedList<{ attempts: number }, never, 'attempts'>({
    ...{ scope: 'admin', name: 'attempts', table: webhookEvents, filters: {} },
    sorts: { attempts: [webhookEvents.attempts] },
  });
  await db.insert(webhookEvents).values(
    [2, 10, 1, 10, 9].map((attempts, i) => ({
      ...{ ...record(i), attempts, provider: 'p', preset: 'p', status: 'dead' as const },
      ...{ fingerprint: Buffer.from([i]), body: Buffer.from('{}') },
    })),
  );
  const query = { limit: 2, sort: '-attempts' } as const;
  const first = (await list(context, { ...query, after: '' })) as CursorPage<{ attempts: number }>;
  const second = await list(context, { ...query, after: first.meta.next ?? '' });
  t.same(
    [...first.data, ...second.data].map(({ attempts }) => attempts),
    [10, 10, 9, 2],
  );
  const nothing = { above: firstId, below: lastId };
  const forged = makeCursor(JSON.stringify(['attempts', '-attempts', nothing, []]), ['many', newId(start)]);
  await t.rejects(list(context, { ...query, after: forged }), {
    code: 'invalid',
    details: [{ path: '/after' }],
  });
});
