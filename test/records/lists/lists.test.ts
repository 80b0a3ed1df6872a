// runs: also on embedded
import t from 'tap';
import { pgTable, sql, text, uuid } from '#drizzle/orm.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import { firstId, lastId, newId, newRecord } from '#src/core/ids.ts';
import { orm } from '#src/database/connection.ts';
import { makeCursor } from '#src/records/lists/cursors.ts';
import { PagedList } from '#src/records/lists/pagedList.ts';
import type { CursorPage } from '#src/records/lists/pages.ts';
import { ownFilter } from '#src/records/lists/rules.ts';
import { fingerprintOf } from '#src/webhooks/envelope.ts';
import { inside } from '#test/helper/access.ts';
import { openTestDatabase } from '#test/helper/database.ts';

t.test('a record may have members with the names that a statement of a list uses itself', async t => {
  const context = inside(await openTestDatabase(t));
  const { db } = context;
  const names = ['total', 'bound', 'rest', 'start', 'page', 'record', 'limit', 'skip'] as const;
  const columns = Object.fromEntries(names.map(name => [name, text()])) as Record<
    (typeof names)[number],
    ReturnType<typeof text>
  >;
  const orders = pgTable('orders', { id: uuid().primaryKey(), parent: uuid(), ...columns });
  const texts = names.map(name => `"${name}" text`);
  await db.rows(`create table orders (id uuid primary key, parent uuid, ${texts})`, []);
  await db.rows(`select list_watch('orders', '{}')`, []);
  const [parent, other] = [newId(0), newId(0)];
  const order = { ...Object.fromEntries(names.map(name => [name, `its ${name}`])), id: newId(0), parent };
  const filter = { total: 'its total', skip: 'its skip' };
  await orm(db).insert(orders).values(order);
  for (const counted of [[], undefined]) {
    const list = new PagedList<typeof order, 'parent' | 'total' | 'skip', 'createdAt' | 'total'>({
      scope: 'read',
      table: orders,
      counted,
      filters: { parent: orders.parent, total: orders.total, skip: orders.skip },
      sorts: { total: [sql`lower(${orders.total})`] },
    });
    for (const sort of ['createdAt', '-total'] as const) {
      const query = { limit: 5, sort };
      const meta = { page: 1, limit: 5, total: 1, totalPages: 1 };
      t.same(await list.page(context, query), { data: [order], meta, hasNext: false });
      t.match(await list.byNumber(context, { ...query, page: 2, ...filter }), { meta: { total: 1 } });
      t.same((await list.page(context, { ...query, after: '' })).data, [order]);
      const each = { filter: 'parent' as const, ids: [parent, other] };
      for (const one of [query, { ...query, before: '', skip: filter.skip }]) {
        const pages = await list.ofEach(context, each, one, 10);
        t.same([pages.get(parent)?.data, pages.get(other)?.data], [[order], []]);
      }
      const totals = await list.totalOfEach(context, each, { total: filter.total });
      t.same(Object.fromEntries(totals), { [parent]: 1, [other]: 0 });
    }
  }
});

t.test(
  'a private list is counted for each parent by its owner too (bug: the column was ambiguous)',
  async t => {
    const system = inside(await openTestDatabase(t));
    const { db } = system;
    const [parent, owner, other] = [newId(0), newId(0), newId(0)];
    await db.rows('create table notes (id uuid primary key, parent uuid, owner uuid)', []);
    for (const each of [owner, owner, other])
      await db.rows('insert into notes values ($1, $2, $3)', [newId(0), parent, each]);
    const notes = pgTable('notes', { id: uuid().primaryKey(), parent: uuid(), owner: uuid() });
    const list = new PagedList<{ owner: string }, string, 'createdAt'>({
      scope: 'read or own',
      table: notes,
      filters: { [ownFilter]: notes.owner, parent: notes.parent, owner: notes.owner },
    });
    const context = { ...system, actor: { ...system.actor, scopes: ['own' as const], person: owner } };
    const each = { filter: 'parent' as const, ids: [parent] };
    for (const [asked, total] of [
      [{}, 2],
      [{ owner }, 2],
      [{ owner: other }, 0],
    ] as const) {
      t.same([...(await list.totalOfEach(context, each, asked)).values()], [total]);
      t.match(await list.byNumber(context, { parent, limit: 5, ...asked } as never), { meta: { total } });
    }
  },
);

t.test('a list may be sorted by numbers, and a forged cursor with a word for one is refused', async t => {
  const list = new PagedList<{ attempts: number }, never, 'attempts'>({
    scope: 'admin',
    table: webhookEvents,
    filters: {},
    sorts: { attempts: [webhookEvents.attempts] },
  });
  const context = inside(await openTestDatabase(t));
  const event = { provider: 'p', preset: 'p', status: 'dead' as const, body: Buffer.from('{}') };
  for (const [i, attempts] of [2, 10, 1, 10, 9].entries())
    await orm(context.db)
      .insert(webhookEvents)
      .values({ ...newRecord(context), ...event, attempts, fingerprint: fingerprintOf(`${i}`) });
  const query = { limit: 2, sort: '-attempts' } as const;
  const first = (await list.page(context, { ...query, after: '' })) as CursorPage<{ attempts: number }>;
  const second = await list.page(context, { ...query, after: first.meta.next ?? '' });
  t.match(
    [...first.data, ...second.data],
    [10, 10, 9, 2].map(attempts => ({ attempts })),
  );
  const nothing = { $above: firstId, $below: lastId };
  const forged = makeCursor(JSON.stringify(['webhook_events', '-attempts', nothing, []]), ['many', newId(0)]);
  const refused = { code: 'invalid', details: [{ path: '/after' }] };
  await t.rejects(list.page(context, { ...query, after: forged }), refused);
});
