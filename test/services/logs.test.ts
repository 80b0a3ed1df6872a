import fc from 'fast-check';
import t from 'tap';
import { auditLog } from '../../drizzle/tables/auditLog.ts';
import type { AuditEntry } from '../../schemas/audit.ts';
import { lowestId } from '../../src/core/ids.ts';
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
