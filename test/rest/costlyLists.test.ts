import t, { type Test } from 'tap';
import { getTableColumns } from '#drizzle/orm.ts';
import { Budget } from '#src/access/limits/budget.ts';
import { lowestId } from '#src/core/ids.ts';
import type { Connection } from '#src/database/connection.ts';
import { rowMapper } from '#src/database/statements/statement.ts';
import { inLongTransaction } from '#src/database/write.ts';
import { PagedList } from '#src/records/lists/pagedList.ts';
import { ownFilter } from '#src/records/lists/rules.ts';
import { inside } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { backend, isDistributed, isOfClock, openTestDatabase } from '#test/helper/database.ts';
import { fill } from '#test/helper/graphql.ts';
import { until } from '#test/rig/process.ts';
import { specimenTable as table } from '#test/world/specimens.ts';

const database = await openTestDatabase(t);
/** The statements of reads. `gate` is awaited before each one on the connection of costly lists. */
const sent: { on: 'reads' | 'costly'; text: string; rows: unknown[][] }[] = [];
let gate = async () => {};
const watch = (on: 'reads' | 'costly'): Connection => ({
  ...database[on],
  rows: async (text, ...others) => {
    const statement = { on, text, rows: [] as unknown[][] };
    if (!isOfClock(text)) sent.push(statement);
    if (on === 'costly') await gate();
    statement.rows = await database[on].rows(text, ...others);
    return statement.rows;
  },
});
/** How many rows a statement has counted, which each row of a page repeats. */
const countedBy = ({ text, rows }: (typeof sent)[number]) =>
  text.includes('count(*)')
    ? rows.slice(text.includes('$parent') ? 0 : -1).reduce((sum, row) => sum + Number(row.at(-1)), 0)
    : 0;
const watched = { ...database, reads: watch('reads'), costly: watch('costly') };
const limited = (t: Test, RATE_LIMIT_MAX = 1_000_000) =>
  build(t, { database: watched, settings: { RATE_LIMIT_MAX, RATE_LIMIT_WINDOW: 3600 } });

/** Three burrows with 120,000, 10,000 and 100 specimens. */
const ids = [1, 2, 3].map(n => `019aa5d0-0001-7000-8000-00000000000${n}`) as [string, string, string];
const [many, some, few] = ids;
await fill(database, 3, 0);
await inLongTransaction(database.writes, async ({ rows }) => {
  // A trigger takes longer than its row.
  await rows('alter table specimens disable trigger user', []);
  await rows(
    `insert into specimens (id, label, grade, burrow_id, created_at, updated_at)
     select concat(left(h, 8), '-', right(h, 4), '-7000-8000-', lpad(n::text, 12, '0'))::uuid,
      case n % 2 when 0 then 'Same' else 'T' || n end, case n % 3 when 0 then 'rough' else 'fine' end,
      (case when n <= 120000 then $1 when n <= 130000 then $2 else $3 end)::uuid, now(), now()
     from generate_series(1, 130100) n, lpad(to_hex(1600000000000 + n * 1000::bigint), 12, '0') h`,
    ids,
  );
  await rows('alter table specimens enable trigger user', []);
  await rows(`select list_repair('specimens')`, []);
});
await database.writes.rows('analyze specimens', []);
const since = 'createdSince=1971-01-01T00:00:00Z';

/** A page or a GraphQL query, and its price in addition to the point that a request costs. */
const prices: [asked: string, points: number][] = [
  ['sort=label&limit=100&page=100', 0],
  ['sort=label&limit=100&page=101', 1],
  ['sort=-label&limit=100&page=1101', 11],
  ['sort=label&limit=100&page=2147483647', 13],
  ['grade=rough&sort=label&limit=100&page=401', 4],
  ['grade=rough&sort=label&limit=100&page=9999', 4],
  ['limit=100&page=1101', 0],
  ['limit=100&page=2147483647', 0],
  ['grade=rough&limit=100&page=401', 0],
  [since, 13],
  [`${since}&sort=label&limit=100&page=999`, 13],
  [`${since}&createdBefore=2020-09-13T14:00:00Z&sort=label`, 0],
  [`${since}&grade=rough`, 4],
  [`burrow=${many}`, 12],
  [`burrow=${many}&grade=rough`, 9],
  [`burrow=${many}&grade=rough&sort=label&limit=100&page=300`, 9],
  [`burrow=${some}&${since}&sort=label&limit=100&page=99`, 1],
  [`burrow=${some}&label=T125001`, 0],
  [`burrow=${few}&grade=rough&sort=label`, 0],
  ['label=Same', 6],
  ['label=T7&grade=fine', 0],
  ['{ specimens(page: 2201, limit: 50, sort: label_desc) { id } }', 11],
  [`{ specimens(page: 3, limit: 50, burrow: "${some}") { id } }`, 1],
  [`{ specimensCount(burrow: "${many}", grade: rough) }`, 9],
  ['{ specimensCount(grade: rough) }', 0],
  [`{ burrow(id: "${many}") { specimensCount(grade: rough) } }`, 9],
  [`{ burrow(id: "${few}") { specimensCount(grade: rough) } }`, 0],
  [`{ burrow(id: "${many}") { specimens(page: 200, limit: 50, sort: label) { id } } }`, 0],
  [`{ burrow(id: "${some}") { specimens(page: 201, limit: 50) { id } } }`, 1],
  [`{ burrow(id: "${many}") { specimens(page: 2201, limit: 50, sort: label) { id } } }`, 12],
  [`{ burrow(id: "${many}") { specimensConnection(first: 1) { totalCount } } }`, 12],
];
const requestOf = (asked: string): ['GET' | 'POST', string, { body?: object }] =>
  asked.startsWith('{')
    ? ['POST', '/api/graphql', { body: { query: asked } }]
    : ['GET', `/api/specimens?${asked}`, {}];

t.test('a list costs a point for each 10,000 rows that it counts or passes, at most its own', async t => {
  const { call } = await limited(t);
  let before = 1_000_000;
  for (const [asked, points] of prices) {
    const [method, url, options] = requestOf(asked);
    sent.length = 0;
    const { headers, body } = await call(method, url, 200, options);
    t.notOk(body.errors, asked);
    const after = Number(headers['ratelimit-remaining']);
    t.equal(before - after - 1, points, asked);
    t.equal(sent.at(-1)?.on, points > 10 ? 'costly' : 'reads', `${asked} is read where its price says`);
    before = after;
    if (method === 'GET') t.same(body, await naivePage(asked), asked);
  }
});

/** The page, as the simplest statements read it. */
async function naivePage(asked: string) {
  const { rows } = database.writes;
  const { page, limit, sort = 'createdAt', ...filters } = Object.fromEntries(new URLSearchParams(asked));
  const meta = { page: Number(page ?? 1), limit: Number(limit ?? 20) };
  const conditions = Object.entries(filters).map(([name, value]) => {
    if (name === 'burrow') return `burrow_id = '${value}'`;
    const time = lowestId(new Date(value));
    return (
      { createdSince: `id >= '${time}'`, createdBefore: `id < '${time}'` }[name] ?? `${name} = '${value}'`
    );
  });
  const from = `from specimens where ${['true', ...conditions].join(' and ')}`;
  const direction = sort.startsWith('-') ? 'desc' : 'asc';
  const order = [...(sort.endsWith('label') ? ['label'] : []), 'id'].map(column => `${column} ${direction}`);
  const [[total] = []] = await rows(`select count(*)::int ${from}`, []);
  const ids = `select id ${from} order by ${order} limit ${meta.limit} offset ${(meta.page - 1) * meta.limit}`;
  const records = await rows(
    `select ${Object.values(getTableColumns(table)).map(({ name }) => name)} from specimens join (${ids}) as page using (id) order by ${order}`,
    [],
  );
  const data = records.map(rowMapper(getTableColumns(table)));
  return { data, meta: { ...meta, total, totalPages: Math.ceil(Number(total) / meta.limit) } };
}

t.test(
  'what is known before is refused before it is read, the rest is counted as far as points reach',
  async t => {
    const { app } = await limited(t, 4);
    for (const [i, [asked]] of prices.filter(([, points]) => points > 3).entries()) {
      const [method, url, { body }] = requestOf(asked);
      sent.length = 0;
      const reply = await app.inject({
        method,
        url,
        remoteAddress: `192.0.2.${i}`,
        ...(body && { payload: body }),
      });
      if (method === 'GET') t.equal(reply.statusCode, 429, asked);
      else t.match(reply.json(), { errors: [{ extensions: { code: 'RATE_LIMITED' } }] }, asked);
      t.equal(reply.headers['ratelimit-remaining'], '0', asked);
      t.ok(Math.max(...sent.map(countedBy)) <= 40_000, `${asked} ${JSON.stringify(sent)}`);
      t.notOk(
        sent.some(({ on, rows }) => on === 'costly' || rows.length > 2),
        `${asked}: no page is read`,
      );
    }
  },
);

t.test('what comes at once is counted only as far as what the others left reaches', async t => {
  const { app } = await limited(t, 30);
  sent.length = 0;
  const url = `/api/specimens?burrow=${many}`;
  const replies = await Promise.all(Array.from({ length: 6 }, () => app.inject(url)));
  const statuses = replies.map(({ statusCode }) => statusCode).toSorted();
  // Two succeed at most, and none if all begin before one has ended: each holds points that the others miss.
  t.equal(statuses[2], 429, `${statuses}`);
  const sum = sent.map(countedBy).reduce((sum, rows) => sum + rows);
  t.ok(sum <= 800_000, `${sum} rows`);
});

t.test('costly lists are read one at a time for an account, and others do not wait for them', async t => {
  const { app } = await limited(t);
  const held = Promise.withResolvers<void>();
  gate = () => held.promise;
  t.teardown(() => {
    held.resolve();
    gate = async () => {};
  });
  const get = (remoteAddress: string, asked: string) =>
    app.inject({ url: `/api/specimens?${asked}`, remoteAddress });
  sent.length = 0;
  const begun = () => sent.filter(({ on }) => on === 'costly').length;
  const costly = [since, `burrow=${many}`, 'sort=label&limit=100&page=1101'];
  const own = costly.map(asked => get('192.0.2.1', asked));
  await until('one has begun', () => begun() === 1, 10);
  const other = get('192.0.2.2', since);
  await until('that of another account has begun, too', () => begun() === 2, 10);
  for (const address of ['192.0.2.1', '192.0.2.2'])
    t.equal((await get(address, `burrow=${few}`)).statusCode, 200, 'what is not costly goes on');
  t.equal(begun(), 2);
  held.resolve();
  for (const reply of await Promise.all([...own, other])) t.equal(reply.statusCode, 200);
});

t.test(
  'several filters use the index of the rarest, and of a few rows none reads many',
  // PGlite binds parameters to an explain, too, and Citus explains no generic plan of a statement with a CTE.
  { skip: (backend === 'embedded' || isDistributed) && 'needs a server of PostgreSQL' },
  async t => {
    const { call } = await limited(t);
    // A private list as its owner sees it: the burrow stands for the owner.
    const list = new PagedList<object, string, 'createdAt' | 'label'>({
      scope: 'read or own',
      table,
      counted: ['grade'],
      filters: { [ownFilter]: table.burrowId, grade: table.grade, label: table.label },
      sorts: { label: [table.label] },
    });
    const actor = { ...inside(database).actor, scopes: ['own' as const], person: few };
    const budget = new Budget({
      account: { name: 'test' },
      deadline: Number.POSITIVE_INFINITY,
      hasLeft: () => false,
      charge: async () => {},
      left: async () => 1000,
      reserve: async points => points,
      onCostly: work => work(watched.reads),
    });
    const own = { ...inside(database), db: watched.reads, actor, budget };
    for (const [asked, index] of [
      [`grade=rough&burrow=${few}`, 'specimens_burrow_index'],
      [`grade=rough&burrow=${few}&${since}`, 'specimens_burrow_index'],
      [`grade=rough&burrow=${few}&label=Same`, 'specimens_burrow_index'],
      ['grade=rough&label=T7', 'specimens_label_index'],
      [`{ burrow(id: "${few}") { specimensCount(grade: rough) } }`, 'specimens_burrow_index'],
      [{ grade: 'rough' }, 'specimens_burrow_index'],
      [{ grade: 'rough', sort: 'label' }, 'specimens_burrow_index'],
    ] as const) {
      sent.length = 0;
      if (typeof asked !== 'string') await list.page(own, { limit: 20, ...asked } as never);
      else {
        const [method, url, options] = requestOf(asked);
        await call(method, url, 200, options);
      }
      const lines = await database.reads.rows(`explain (generic_plan) ${sent.at(-1)?.text}`, []);
      const plan = lines.flat().join('\n');
      const used = [...plan.matchAll(/(?:Seq Scan on|Scan using|Bitmap Index Scan on) (specimens\w*)/g)].map(
        ([, name]) => name,
      );
      t.same([...new Set(used)], [index], `${JSON.stringify(asked)}\n${plan}`);
    }
  },
);
