import fc from 'fast-check';
import t, { type Test } from 'tap';
import { inArray } from '../../../drizzle/orm.ts';
import { apiKeys } from '../../../drizzle/tables/apiKeys.ts';
import { posts } from '../../../drizzle/tables/posts.ts';
import { subscriptions } from '../../../drizzle/tables/subscriptions.ts';
import { users } from '../../../drizzle/tables/users.ts';
import type { Context } from '../../../src/core/context.ts';
import { newId } from '../../../src/core/ids.ts';
import { orm } from '../../../src/database/connection.ts';
import { keyList } from '../../../src/services/apiKeys.ts';
import type { CursorPage, Page } from '../../../src/services/lists/pages.ts';
import { post } from '../../../src/services/posts.ts';
import { subscriptionList } from '../../../src/services/subscriptions/read.ts';
import { user } from '../../../src/services/users.ts';
import { inside } from '../../helper/access.ts';
import { openTestDatabase } from '../../helper/database.ts';
import { any, seed } from '../../helper/values/random.ts';

const database = await openTestDatabase(t);
const context = inside(database);
const db = orm(database.writes);
const start = Date.UTC(2026, 0);
const at = (milliseconds: number) => new Date(start + milliseconds).toISOString();

// Many ties, values of any length, and several records in each millisecond.
const texts = ['a', 'A', 'ä', '😀', ' ', '\u0001"\\', '\ufeffa', '\u{10FFFF}'.repeat(200), 'a'.repeat(200)];
const states = ['draft', 'published'] as const;
const record = (i: number) => {
  const createdAt = at(Math.floor(i / 3));
  return { id: newId(Date.parse(createdAt)), createdAt, updatedAt: createdAt };
};
const people = Array.from({ length: 40 }, (_, i) => ({
  ...record(i),
  name: any(texts),
  email: `${any(['u', 'U'])}${(i * 7) % 40}${any(['x', 'X'])}@example.com`,
}));
const authors = people.slice(0, 3).map(({ id }) => id);
const newPost = (i: number) => ({
  ...record(i),
  title: any([...texts, '\u{10FFFF}'.repeat(500)]),
  status: any(states),
  authorId: any(authors),
});
const stories = Array.from({ length: 60 }, (_, i) => newPost(60 + i));
await db.insert(users).values(people);
await db.insert(posts).values(stories);
await db.insert(subscriptions).values(
  Array.from({ length: 30 }, (_, i) => ({
    ...record(200 + i),
    customer: `${any(['c', 'C'])}${Math.floor(i / 2)}`,
    provider: i % 2 ? 'stripe' : 'paddle',
    status: any(['active', 'canceled'] as const),
    activatedAt: null,
  })),
);
await db.insert(apiKeys).values(
  Array.from({ length: 20 }, (_, i) => {
    const { updatedAt: _updatedAt, ...members } = record(300 + i);
    return { ...members, name: any(texts), scopes: ['read' as const], secretHash: '0'.repeat(64) };
  }),
);

type Query = { limit: number; sort: string } & Record<string, unknown>;
type List = { page(context: Context, query: Query): Promise<Page<unknown> | CursorPage<unknown>> };
const lists: { name: string; list: List; sorts: string[]; filters: Record<string, fc.Arbitrary<unknown>> }[] =
  [
    {
      name: 'users',
      list: user.list as List,
      sorts: ['createdAt', 'name', 'email'],
      filters: {
        name: fc.constantFrom(...texts),
        email: fc.constantFrom(...people.map(({ email }) => email)),
      },
    },
    {
      name: 'posts',
      list: post.list as List,
      sorts: ['createdAt', 'title'],
      filters: {
        title: fc.constantFrom(...texts),
        author: fc.constantFrom(...authors),
        status: fc.constantFrom(...states),
      },
    },
    {
      name: 'subscriptions',
      list: subscriptionList as List,
      sorts: ['createdAt', 'customer'],
      filters: {
        provider: fc.constantFrom('stripe', 'paddle', 'none'),
        status: fc.constantFrom('active', 'canceled'),
      },
    },
    {
      name: 'keys',
      list: keyList as List,
      sorts: ['createdAt', 'name'],
      filters: { name: fc.constantFrom(...texts) },
    },
  ];

/** All records by number: what a client sees who does not use cursors. */
async function inPages(list: List, query: Query): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let page = 1; ; page++) {
    const { data } = await list.page(context, { ...query, limit: 100, page });
    if (data.length === 0) return all;
    all.push(...data);
  }
}

/** All records by cursor, in the order of the list. Also checks that both cursors are null exactly at the ends. */
async function walk(list: List, query: Query, direction: 'after' | 'before') {
  const pages: unknown[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { data, meta } = (await list.page(context, {
      ...query,
      [direction]: cursor,
    })) as CursorPage<unknown>;
    const [ahead, back] = direction === 'after' ? [meta.next, meta.previous] : [meta.previous, meta.next];
    if ((back === null) !== (cursor === '')) throw new Error(`the cursor back is ${back} after "${cursor}"`);
    if (data.length === 0 && cursor !== '') throw new Error('a cursor led to an empty page');
    if (ahead !== null && data.length < query.limit) throw new Error('a page in the middle is not full');
    pages.push(data);
    cursor = ahead;
  }
  return (direction === 'after' ? pages : pages.reverse()).flat();
}

for (const { name, list, sorts, filters } of lists) {
  const more = {
    ...filters,
    createdSince: fc.integer({ min: -1, max: 110 }).map(at),
    createdBefore: fc.integer({ min: -1, max: 110 }).map(at),
  };
  const limit = fc.integer({ min: 1, max: 25 });
  const compare = async (t: Test, query: Query) => {
    const expected = await inPages(list, query);
    for (const direction of ['after', 'before'] as const) {
      const text = `${direction} ${JSON.stringify(query).slice(0, 200)}`;
      t.same(await walk(list, query, direction), expected, text);
    }
  };
  t.test(`${name}: a list is the same by cursor as by page, TEST_SEED=${seed}`, async t => {
    for (const order of sorts.flatMap(sort => [sort, `-${sort}`])) {
      t.ok((await inPages(list, { limit: 1, sort: order })).length >= 20, 'there is something to walk');
      const sort = fc.constant(order);
      const queries = fc.oneof(
        fc.record({ limit, sort }),
        fc.record({ limit, sort, ...more }, { requiredKeys: ['limit', 'sort'] }),
      ) as fc.Arbitrary<Query>;
      const property = fc.asyncProperty(queries, query => compare(t, query));
      await fc.assert(property, { seed, numRuns: 15 });
    }
  });
}

t.test('a cursor keeps its place when its record is gone, and an empty page has one back', async t => {
  for (const sort of ['title', 'createdAt'] as const) {
    const query = { limit: 59, sort };
    const all = (await inPages(post.list as List, query)) as typeof stories;
    const first = (await post.list.page(context, { ...query, after: '' })) as CursorPage<{ id: string }>;
    t.match(first.meta, { limit: 59, next: String, previous: null });
    const gone = all.slice(58);
    await db.delete(posts).where(
      inArray(
        posts.id,
        gone.map(({ id }) => id),
      ),
    );
    const empty = (await post.list.page(context, {
      ...query,
      after: first.meta.next ?? '',
    })) as CursorPage<unknown>;
    t.match(empty, { data: [], meta: { limit: 59, next: null, previous: String } });
    const back = await post.list.page(context, { ...query, before: empty.meta.previous ?? '' });
    t.same(back.data, all.slice(0, 58), 'the way back has all that is left');
    await db.insert(posts).values(gone);
    t.same((await post.list.page(context, { ...query, after: first.meta.next ?? '' })).data, all.slice(59));
  }
});
