import fc from 'fast-check';
import t from 'tap';
import { inArray, sql } from '../../drizzle/orm.ts';
import { auditLog } from '../../drizzle/tables/auditLog.ts';
import type { AuditEntry } from '../../schemas/audit.ts';
import { lowestId, timeOf } from '../../src/core/ids.ts';
import { orm } from '../../src/database/connection.ts';
import { listAudit } from '../../src/services/audit.ts';
import { inside } from '../helper/access.ts';
import { openTestDatabase } from '../helper/database.ts';
import { seed } from '../helper/values/random.ts';

const database = await openTestDatabase(t);
const context = inside(database);
const actions = ['user.create', 'post.create', 'post.change'] as const;
const start = Date.UTC(2026, 0);
/** Three entries per millisecond. */
const entries = Array.from({ length: 60 }, (_, i): AuditEntry => {
  const at = new Date(start + Math.floor(i / 3));
  const id = lowestId(at).replace('-0000-0000-', `-7000-8${i % 3}00-`);
  return {
    ...{ id, createdAt: at.toISOString(), action: actions[i % 3] ?? 'user.create', recordId: `r${i % 2}` },
    ...{ changed: [], actorKind: 'key', actorId: i % 4 === 0 ? null : `k${i % 4}`, actorName: 'k' },
    ...{ door: 'rest', address: null, requestId: null, details: null },
  };
});
await orm(database.writes).insert(auditLog).values(entries);
const newestFirst = entries.toReversed();

type Query = Parameters<typeof listAudit>[1];
type Filters = Omit<Query, 'limit' | 'after' | 'before'>;
const at = (milliseconds: number) => new Date(start + milliseconds).toISOString();
const fitting = ({ action, record, actor, createdSince, createdBefore }: Filters) =>
  newestFirst.filter(
    entry =>
      (action === undefined || entry.action === action) &&
      (record === undefined || entry.recordId === record) &&
      (actor === undefined || entry.actorId === actor) &&
      (createdSince === undefined || entry.createdAt >= createdSince) &&
      (createdBefore === undefined || entry.createdAt < createdBefore),
  );

const drawFilters = fc.record(
  {
    action: fc.constantFrom(...actions, 'user.delete' as const),
    record: fc.constantFrom('r0', 'r1', 'r2'),
    actor: fc.constantFrom('k1', 'k2', 'nobody'),
    createdSince: fc.integer({ min: -1, max: 21 }).map(at),
    createdBefore: fc.integer({ min: -1, max: 21 }).map(at),
  },
  { requiredKeys: [] },
);

t.test('a log reads the same in both directions, with any filters and page size', async t => {
  const walk = async (filters: Filters, limit: number, direction: 'after' | 'before') => {
    const seen: AuditEntry[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { data, meta } = await listAudit(context, { ...filters, limit, [direction]: cursor });
      const [ahead, back] = direction === 'after' ? [meta.next, meta.previous] : [meta.previous, meta.next];
      if (back === null && cursor !== '') throw new Error('the cursor back is missing');
      if (back !== null && cursor === '') throw new Error('the first page has a cursor to an earlier one');
      if (data.length === 0 && seen.length > 0) throw new Error('a cursor led to an empty page');
      seen.splice(direction === 'after' ? seen.length : 0, 0, ...data);
      cursor = ahead;
    }
    return seen;
  };
  const property = fc.asyncProperty(drawFilters, fc.integer({ min: 1, max: 9 }), async (filters, limit) => {
    const expected = fitting(filters);
    for (const direction of ['after', 'before'] as const)
      t.same(
        await walk(filters, limit, direction),
        expected,
        `${direction} ${limit} ${JSON.stringify(filters)}`,
      );
  });
  await fc.assert(property, { seed, numRuns: 60 });
});

/** Runs work while these entries are deleted. */
async function without(gone: AuditEntry[], work: (inside: typeof context) => Promise<void>) {
  const ids = gone.map(({ id }) => id);
  const done = database.writes.transaction(async tx => {
    await orm(tx).execute(sql`alter table audit_log disable trigger all`);
    await orm(tx).delete(auditLog).where(inArray(auditLog.id, ids));
    await work({ ...context, db: tx });
    throw new Error('Rollback');
  });
  await t.rejects(done, { message: 'Rollback' });
}

t.test('a cursor stays valid when its record is deleted', async t => {
  const { data, meta } = await listAudit(context, { limit: 5 });
  t.same(data, newestFirst.slice(0, 5));
  await without(newestFirst.slice(4, 6), async inside => {
    const page = await listAudit(inside, { limit: 5, after: meta.next ?? '' });
    t.same(page.data, newestFirst.slice(6, 11));
  });
});

t.test('an empty page has a cursor back to the remaining entries', async t => {
  const filters = { limit: 14, createdBefore: at(5) };
  const newest = await listAudit(context, filters);
  t.same(newest.data, newestFirst.slice(45, 59));
  await without(entries.slice(0, 1), async inside => {
    const empty = await listAudit(inside, { ...filters, after: newest.meta.next ?? '' });
    t.match(empty, { data: [], meta: { next: null, previous: String } });
    const back = await listAudit(inside, { ...filters, before: empty.meta.previous ?? '' });
    t.same(back.data, newest.data);
  });
  const oldest = await listAudit(context, { ...filters, before: '' });
  t.same(oldest.data, newestFirst.slice(46, 60));
  await without(entries.slice(14, 15), async inside => {
    const empty = await listAudit(inside, { ...filters, before: oldest.meta.previous ?? '' });
    t.match(empty, { data: [], meta: { next: String, previous: null } });
    const back = await listAudit(inside, { ...filters, after: empty.meta.next ?? '' });
    t.same(back.data, oldest.data);
  });
});

t.test('a malformed cursor, or one of other filters or another log, is refused by name', async t => {
  const { next } = (await listAudit(context, { limit: 2, action: 'user.create' })).meta;
  const cursor = next ?? '';
  const message = 'is not a cursor of this list with these filters and this sort';
  const wrong: Omit<Query, 'limit'>[] = [
    { after: cursor },
    { after: cursor, action: 'post.create' },
    { after: cursor, action: 'user.create', record: 'r1' },
    { after: cursor, action: 'user.create', createdSince: at(1) },
    { after: `${cursor}A`, action: 'user.create' },
    { after: 'x', action: 'user.create' },
  ];
  for (const query of wrong)
    await t.rejects(listAudit(context, { limit: 2, ...query }), {
      code: 'invalid',
      details: [{ in: 'query', path: '/after', message }],
    });
  await t.rejects(listAudit(context, { limit: 2, before: cursor }), {
    code: 'invalid',
    details: [{ in: 'query', path: '/before', message }],
  });
  await t.rejects(listAudit(context, { limit: 2, after: cursor, before: '', action: 'user.create' }), {
    code: 'invalid',
    details: [{ in: 'query', path: '/before', message: 'cannot be combined with "after"' }],
  });
  const same = { action: 'user.create', after: cursor } as const;
  t.equal((await listAudit(context, { limit: 7, ...same })).data.length, 7, 'the page size may change');
});

t.test('time filters are in milliseconds, and finer times are rounded up', async t => {
  const { createdAt } = entries[30] as AuditEntry;
  const finer = createdAt.replace('Z', '5Z');
  const read = async (query: Filters) => (await listAudit(context, { limit: 100, ...query })).data;
  t.same(await read({ createdSince: createdAt }), newestFirst.slice(0, 30));
  t.same(await read({ createdBefore: createdAt }), newestFirst.slice(30));
  t.same(await read({ createdSince: finer }), newestFirst.slice(0, 27));
  t.same(await read({ createdBefore: finer }), newestFirst.slice(27));
  t.same(await read({ createdSince: finer, createdBefore: createdAt }), []);
  t.equal((await read({ createdSince: '0001-01-01T00:00:00Z' })).length, 60);
  t.equal((await read({ createdBefore: '0001-01-01T00:00:00Z' })).length, 0);
  await t.rejects(read({ createdSince: '0000-01-01T00:00:00Z' }), {
    code: 'invalid',
    details: [{ path: '/createdSince' }],
  });
  t.ok(entries.every(entry => timeOf(entry.id).toISOString() === entry.createdAt));
});
