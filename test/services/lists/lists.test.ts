import t from 'tap';
import { pgTable, sql, text, uuid } from '../../../drizzle/orm.ts';
import { webhookEvents } from '../../../drizzle/tables/webhookEvents.ts';
import { firstId, lastId, newId, newRecord } from '../../../src/core/ids.ts';
import { orm } from '../../../src/database/connection.ts';
import { makeCursor } from '../../../src/services/lists/cursors.ts';
import { pagedList } from '../../../src/services/lists/pagedList.ts';
import type { CursorPage } from '../../../src/services/lists/pages.ts';
import { post } from '../../../src/services/posts.ts';
import { users } from '../../../src/services/users.ts';
import { inside } from '../../helper/access.ts';
import { openTestDatabase } from '../../helper/database.ts';

t.test('the pages of a list contain every record once, in order, with correct totals', async t => {
  const context = inside(await openTestDatabase(t));
  const { db } = context;
  const user = await users.create(context, { name: 'Ada', email: 'ada@example.com' });
  await orm(db).execute(sql`
    insert into posts (id, title, status, author_id, created_at, updated_at)
    select (lpad(to_hex(1751328000000 + n * 7), 12, '0') || '70008002' || lpad(to_hex(n), 12, '0'))::uuid, 'title ' || n % 7,
      case when n % 3 = 0 then 'draft' else 'published' end, ${user.id}, to_timestamp((1751328000000 + n * 7) / 1000.0), now()
    from generate_series(1, 4000) as n`);

  for (const filter of [
    {},
    { status: 'draft' },
    { author: user.id },
    { status: 'draft', title: 'title 1' },
  ] as const)
    for (const sort of ['createdAt', '-createdAt', 'title', '-title'] as const) {
      const walked: { id: string; createdAt: string; title: string }[] = [];
      let total = 1;
      for (let page = 1; walked.length < total && page < 50; page++) {
        const { data, meta } = await post.list(context, { page, limit: 100, sort, ...filter });
        walked.push(...data);
        total = meta.total;
      }
      const text = `${sort} ${Object.entries(filter)}`;
      t.equal(walked.length, total, `${text}: the total is correct`);
      t.equal(new Set(walked.map(({ id }) => id)).size, total, `${text}: no record twice`);
      const key = sort.replace('-', '') as 'title' | 'createdAt';
      const keys = walked.map(post => `${post[key]} ${post.id}`);
      const sorted = keys.toSorted();
      t.same(keys, sort.startsWith('-') ? sorted.reverse() : sorted, `${text}: in order`);
    }
  const past = await post.list(context, { page: 1000, limit: 20, sort: '-createdAt' });
  t.match(past, { data: [], meta: { total: 4000, totalPages: 200 } });
  t.match(await users.resource.list(context, { page: 1, limit: 20, sort: 'createdAt' }), {
    data: [user],
    meta: { total: 1 },
  });
});

t.test('a record may have members with the names that a statement of a list uses itself', async t => {
  const context = inside(await openTestDatabase(t));
  const { db } = context;
  const names = ['bound', 'rest', 'start', 'page', 'record', 'limit', 'skip'];
  const columns = Object.fromEntries(names.map(name => [name, text()]));
  const orders = pgTable('orders', { id: uuid().primaryKey(), parent: uuid(), total: text(), ...columns });
  const texts = ['total', ...names].map(name => `"${name}" text`).join();
  await db.rows(`create table orders (id uuid primary key, parent uuid, ${texts})`, []);
  await db.rows(`select list_watch('orders', '{}')`, []);
  const [parent, other] = [newId(0), newId(0)];
  const others = Object.fromEntries(names.map(name => [name, `its ${name}`]));
  const order = { ...others, total: 'its total', id: newId(0), parent };
  await orm(db).insert(orders).values(order);
  for (const counted of [[], false] as const) {
    const list = pagedList<typeof order, 'parent' | 'total', 'createdAt' | 'total'>({
      ...{ scope: 'read', name: 'orders', table: orders, counted: counted && [...counted] },
      filters: { parent: orders.parent, total: orders.total },
      sorts: { createdAt: [], total: [sql`lower(${orders.total})`] },
    });
    for (const sort of ['createdAt', '-total'] as const) {
      const query = { limit: 5, sort };
      t.same(await list(context, query), {
        data: [order],
        meta: { page: 1, limit: 5, total: 1, totalPages: 1 },
        hasNext: false,
      });
      t.same((await list(context, { ...query, page: 2, total: 'its total' })).meta.total, 1);
      t.same((await list(context, { ...query, after: '' })).data, [order]);
      for (const each of [query, { ...query, before: '', total: 'its total' }]) {
        const pages = await list.ofEach(context, { filter: 'parent', ids: [parent, other] }, each, 10);
        t.same([pages.get(parent)?.data, pages.get(other)?.data], [[order], []]);
      }
      const totals = await list.totalOfEach(
        context,
        { filter: 'parent', ids: [parent, other] },
        { total: 'its total' },
      );
      t.same(
        [...totals],
        [
          [parent, 1],
          [other, 0],
        ],
      );
    }
  }
});

t.test('a list may be sorted by numbers, and a forged cursor with a word for one is refused', async t => {
  const list = pagedList<{ attempts: number }, never, 'attempts'>({
    ...{ scope: 'admin', name: 'attempts', table: webhookEvents, filters: {} },
    sorts: { attempts: [webhookEvents.attempts] },
  });
  const context = inside(await openTestDatabase(t));
  await orm(context.db)
    .insert(webhookEvents)
    .values(
      [2, 10, 1, 10, 9].map((attempts, i) => ({
        ...{ ...newRecord(context), attempts, provider: 'p', preset: 'p', status: 'dead' as const },
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
  const forged = makeCursor(JSON.stringify(['attempts', '-attempts', nothing, []]), ['many', newId(0)]);
  await t.rejects(list(context, { ...query, after: forged }), {
    code: 'invalid',
    details: [{ path: '/after' }],
  });
});
