// runs: also on embedded
import t, { type Test } from 'tap';
import { inArray, type PgTable, sql } from '#drizzle/orm.ts';
import { apiKeys } from '#drizzle/tables/service/apiKeys.ts';
import { auditLog } from '#drizzle/tables/service/auditLog.ts';
import { identities } from '#drizzle/tables/service/identities.ts';
import { subscriptions } from '#drizzle/tables/service/subscriptions.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import { users } from '#drizzle/tables/users.ts';
import { lowestId } from '#src/core/ids.ts';
import { orm } from '#src/database/connection.ts';
import { domain as ours } from '#src/domain/index.ts';
import type { AnyResource } from '#src/records/resource.ts';
import { fingerprintOf } from '#src/webhooks/envelope.ts';
import { build } from '#test/helper/app.ts';
import { backend } from '#test/helper/database.ts';
import { newBody } from '#test/helper/resources/records.ts';
import { any, below, seed } from '#test/helper/values/random.ts';
import { domain } from '#test/world/index.ts';
import { specimen } from '#test/world/specimens.ts';

const { app, call, newUser, make, database } = await build(t);
const userId = (await newUser()).id;
const { burrowId } = await make(specimen);
const hex = (digits: number) => Array.from({ length: digits }, () => below(16).toString(16)).join('');

interface Base {
  id: string;
  createdAt: string;
  updatedAt: string;
}
/** The id and times of a record at any place of the list. Several are in each millisecond. */
function newBase(): Base {
  const at = new Date(Date.UTC(2026, 0) + below(20));
  const id = `${lowestId(at).slice(0, 14)}7${hex(3)}-8${hex(3)}-${hex(12)}`;
  return { id, createdAt: at.toISOString(), updatedAt: at.toISOString() };
}
// Values of any length with many ties, whose order is not that of the ids.
const texts = [
  'a',
  'A',
  'B',
  'ä',
  '😀',
  ' ',
  '\u0001"\\',
  '\ufeffa',
  'z'.repeat(200),
  '\u{10FFFF}'.repeat(200),
];
const text = () => any(texts);
const grades = ['rough', 'fair', 'fine'];
const few = [-1, 0, 2, 10];
const secretHash = '0'.repeat(64);
const body = Buffer.from('{}');
const actor = { actorKind: 'key', actorId: null, actorName: 'k', transport: 'rest', address: null } as const;

interface List {
  table: PgTable;
  row: (base: Base) => object | Promise<object>;
  /** Whether the list is walked in one sort, like all lists of the embedded database, and not in all. */
  inOneSort?: boolean;
}
/** The list of a resource, in one sort if it is in test/world. Parents are shared, unless each record needs one. */
async function listOf(resource: AnyResource): Promise<[string, List]> {
  const parents = resource.parentRelations.map(({ member }) => member);
  const own = resource.unique.map(({ members }) => members.find(member => parents.includes(member)));
  const first = await newBody(call, resource);
  const isShared = (name: string) => parents.includes(name) && !own.includes(name);
  const shared = Object.fromEntries(Object.entries(first).filter(([name]) => isShared(name)));
  const row = async (base: Base) => ({ ...(await newBody(call, resource, shared)), ...base });
  return [
    `/api/${resource.path}`,
    { table: resource.table, row, inOneSort: !ours.records.includes(resource) },
  ];
}

/** How to make a record of each list. `id` is what names the record to a client. */
const lists: Record<string, List> = {
  ...Object.fromEntries(await Promise.all(domain.records.map(listOf))),
  '/api/users': {
    table: users,
    row: base => ({ ...base, name: text(), email: `${any(['u', 'U'])}${hex(9)}@example.com` }),
  },
  '/api/specimens': {
    table: specimen.table,
    row: base => ({ ...base, burrowId, label: text(), grade: any(grades), bones: any(few), cents: any(few) }),
  },
  '/api/subscriptions': {
    table: subscriptions,
    row: base => ({ ...base, customer: base.id, provider: 'stripe', status: 'active', activatedAt: null }),
  },
  '/api/keys': {
    table: apiKeys,
    row: ({ id, createdAt }) => ({ id, createdAt, name: text(), scopes: ['read'], secretHash }),
  },
  '/api/users/{user_id}/identities': {
    table: identities,
    row: ({ id, createdAt }) => ({ id, createdAt, issuer: text(), subject: id, userId }),
  },
  '/api/audit': {
    table: auditLog,
    row: ({ id, createdAt }) => ({
      id,
      createdAt,
      action: 'user.create',
      recordId: id,
      changed: [],
      requestId: null,
      details: null,
      ...actor,
    }),
  },
  '/api/webhook-events': {
    table: webhookEvents,
    row: base => ({
      ...base,
      provider: 'stripe',
      preset: 'stripe',
      status: 'dead',
      body,
      fingerprint: fingerprintOf(base.id),
    }),
  },
};

async function insert({ table, row }: List, amount: number): Promise<string[]> {
  const bases = Array.from({ length: amount }, newBase);
  await orm(database.writes)
    .insert(table)
    .values((await Promise.all(bases.map(row))) as never[]);
  return bases.map(({ id }) => id);
}

async function remove({ table }: List, ids: string[]): Promise<void> {
  await database.writes.transaction(async tx => {
    // Disables the trigger that keeps the entries of the audit log. The triggers of other tables keep the totals.
    if (table === auditLog) await orm(tx).execute(sql`set local session_replication_role = replica`);
    await orm(tx)
      .delete(table)
      .where(inArray((table as typeof users).id, ids));
  });
}

type Direction = 'after' | 'before';
interface Page {
  ids: string[];
  /** The cursor of the next page in the direction of the walk. */
  cursor: string | null;
  back: string | null;
}
interface Reader {
  limit: number;
  read: (direction: Direction, cursor: string) => Promise<Page>;
  /** The ids of all records, if the list has pages by number. */
  readByNumber: () => Promise<string[] | undefined>;
}

/** Walks a list while records come and go. Those that were there all the time are seen once, in the same order. */
async function walk(t: Test, list: List, direction: Direction, reader: Reader): Promise<void> {
  const { read } = reader;
  const stayed = new Set(await insert(list, 25));
  const others = await insert(list, 20);
  let pages = 0;
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    if (++pages > 2000) throw new Error('the walk does not end');
    const page: Page = await read(direction, cursor);
    seen.push(...(direction === 'after' ? page.ids : page.ids.toReversed()));
    cursor = page.cursor;
    // Removes records at the ends of the page, too: its cursors were made from them.
    const atEnd = [page.ids[0], page.ids.at(-1)].filter(id => others.includes(id ?? ''));
    const gone = new Set([...atEnd.slice(below(3)), any(others), any(others)]);
    await remove(list, [...gone].map(String));
    for (const id of gone) if (others.includes(String(id))) others.splice(others.indexOf(String(id)), 1);
    others.push(...(await insert(list, 1 + below(2))));
  }
  const all = await readAll(t, reader);
  if (direction === 'before') all.reverse();
  t.equal(new Set(seen).size, seen.length, 'no record twice');
  const kept = (ids: string[]) => ids.filter(id => stayed.has(id));
  t.same(kept(seen), kept(all), 'each record that stayed, in its order');
  await remove(list, [...stayed, ...others]);
}

/** Reads all records by cursor while nothing changes: pages are full, and all but the first have a cursor back. */
async function readAll(t: Test, { limit, read, readByNumber }: Reader): Promise<string[]> {
  const all: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    if (all.length > 2000) throw new Error('the walk does not end');
    const page: Page = await read('after', cursor);
    t.equal(page.back === null, cursor === '', 'only the first page has no way back');
    t.ok(page.ids.length === limit || (page.cursor === null && page.ids.length > 0), 'pages are full');
    all.push(...page.ids);
    cursor = page.cursor;
  }
  const byNumber = await readByNumber();
  if (byNumber) t.same(all, byNumber, 'as by number');
  return all;
}

type Named = Record<'id' | 'customer' | 'subject', string>;
const nameOf = ({ id, customer, subject }: Partial<Named>) => String(id ?? customer ?? subject);
const directions = ['after', 'before'] as const;

interface Parameter {
  name: string;
  schema: { enum?: string[] };
}
const documented = Object.entries(
  (await app.documentWriter()).swagger().paths as Record<string, { get?: { parameters?: Parameter[] } }>,
)
  .map(([path, { get }]) => ({ path, parameters: get?.parameters ?? [] }))
  .filter(({ parameters }) => parameters.some(({ name }) => name === 'before'))
  .map(({ path, parameters }) => ({
    path,
    parameters,
    sorts: (parameters.find(({ name }) => name === 'sort')?.schema.enum ?? ['']).slice(
      0,
      lists[path]?.inOneSort || backend === 'embedded' ? 1 : undefined,
    ),
  }));

t.test('every list with cursors is walked', async t => {
  t.same(documented.map(({ path }) => path).sort(), Object.keys(lists).sort());
  if (backend === 'postgres') t.ok(documented.flatMap(({ sorts }) => sorts).length >= 20, 'in every sort');
});

for (const { path, parameters, sorts } of documented)
  for (const sort of sorts)
    for (const direction of directions)
      t.test(`${path}?sort=${sort}&${direction}= while records come and go, TEST_SEED=${seed}`, async t => {
        const limit = 4 + below(3);
        const get = async (query: object) => {
          const parameters = new URLSearchParams({ ...(sort && { sort }), ...query });
          return (await call('GET', `${path.replace('{user_id}', userId)}?${parameters}`, 200)).body;
        };
        const read = async (direction: Direction, cursor: string) => {
          const { data, meta } = await get({ limit, [direction]: cursor });
          const [cursors, ids] = [[meta.next, meta.previous], data.map(nameOf)];
          const [next, back] = direction === 'after' ? cursors : cursors.toReversed();
          return { ids, cursor: next, back };
        };
        const hasNumbers = parameters.some(({ name }) => name === 'page');
        const readByNumber = async () =>
          hasNumbers ? (await get({ limit: 100, page: 1 })).data.map(nameOf) : undefined;
        await walk(t, lists[path] as List, direction, { limit, read, readByNumber });
      });
