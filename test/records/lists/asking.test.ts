// runs: long, also on embedded
import t, { type Test } from 'tap';
import { newRecord } from '#src/core/ids.ts';
import { orm } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { openPostgres } from '#src/database/postgres/postgres.ts';
import { inside } from '#test/helper/access.ts';
import { type Answer, build } from '#test/helper/app.ts';
import { backend, createPostgres, isDistributed, openTestDatabase, testLog } from '#test/helper/database.ts';
import { type Asked, anyAsked, anyText, asArguments, selected } from '#test/helper/resources/asking.ts';
import { any, below, seed } from '#test/helper/values/random.ts';
import { burrowTable } from '#test/world/burrows.ts';
import { type Specimen, specimen, specimenTable } from '#test/world/specimens.ts';
import { makeTables } from '#test/world/tables.ts';

/** More records than are few, so that lists are read in every way. */
const amount = 3000;
const questions = Number(process.env.TEST_QUESTIONS ?? 15);

/** Writes burrows, of which the first has half of the specimens, and returns all specimens in the order of creation. */
async function fill(database: Database): Promise<Specimen[]> {
  const context = inside(database);
  const burrows = Array.from({ length: 6 }, () => ({ ...newRecord(context), label: 'Home', parentId: null }));
  await orm(database.writes).insert(burrowTable).values(burrows);
  const rows = Array.from({ length: amount }, () => ({
    ...newRecord(context),
    label: anyText(),
    grade: any(['rough', 'rough', 'rough', 'fair', 'fine'] as const),
    isWet: below(2) === 0,
    bones: below(5) === 0 ? below(2000) - 1000 : 7,
    weight: any([null, 0.1, -2.5, 1e300, below(100)]),
    cents: below(3) === 0 ? 9_007_199_254_740_991 - below(3) : below(50),
    finder: any([null, `Ada${below(900)}@b.example`, `ada${below(900)}@B.example`]),
    remark: any([null, anyText()]),
    foundAt: any([null, new Date(Date.UTC(2026, 0, 1, 0, 0, 0, below(500))).toISOString()]),
    foundOn: any([null, `2026-02-${10 + below(15)}`]),
    extra: null,
    burrowId: any([burrows[0], any(burrows)])?.id ?? '',
  }));
  for (let i = 0; i < rows.length; i += 500)
    await orm(database.writes)
      .insert(specimenTable)
      .values(rows.slice(i, i + 500));
  await database.writes.rows('analyze specimens', []);
  return rows;
}

type Service = Awaited<ReturnType<typeof build>>;
type List = (others: object) => Promise<Answer['body']>;
const sorts = specimen.contract.sorts.flatMap(sort => [sort, `-${sort}`]);
const idsOf = (records: { id: string }[]) => records.map(({ id }) => id);

async function askAtRandom(t: Test, database: Database) {
  const { call } = await build(t, { database });
  const records = await fill(database);
  const [[lower] = []] = await database.reads.rows(`select lower('É' collate "default")`, []);
  const list = async (asked: Asked[], others: Record<string, unknown>) => {
    const query = asked.map(({ name, value }) => [name, `${value}`]);
    const search = new URLSearchParams([
      ...query,
      ...Object.entries(others).map(([name, value]) => [name, `${value}`]),
    ] as never);
    return (await call('GET', `/api/specimens?${search}`, 200)).body;
  };
  for (let i = 0; i < questions; i++) {
    const drawn = Array.from({ length: below(4) }, () => anyAsked(records, lower === 'é'));
    const asked = [...new Map(drawn.map(each => [each.name, each])).values()];
    const sort = any(sorts);
    const limit = any([1, 7, 100]);
    const expected = selected(records, asked, sort);
    const what = `${JSON.stringify(asked.map(({ name, value }) => [name, value]))} ${sort} (TEST_SEED=${seed})`;
    const page = 1 + below(Math.min(20, Math.ceil(expected.length / limit)) + 1);
    const { data, meta } = await list(asked, { sort, page, limit });
    t.same(
      idsOf(data),
      idsOf(expected.slice((page - 1) * limit, page * limit)),
      `page ${page} of ${limit}: ${what}`,
    );
    t.equal(meta.total, expected.length, what);
    t.same(data[0], expected[(page - 1) * limit], what);
    await walk(t, others => list(asked, { sort, limit, ...others }), idsOf(expected), limit, what);
    await askInGraphQL(t, call, asked, sort, expected, what);
  }
}

/** Walks some pages from each end, from a random record to both sides, and over the border of the last values. */
async function walk(t: Test, list: List, expected: string[], limit: number, what: string) {
  let place = 0;
  let cursor: object = { after: '' };
  for (let step = 0; step < 6; step++) {
    const { data, meta } = await list(cursor);
    const ids = expected.slice(place, place + limit);
    t.same(idsOf(data), ids, `after ${place}: ${what}`);
    t.same([meta.next !== null, meta.previous !== null], [place + limit < expected.length, place > 0], what);
    if (meta.next === null) break;
    const back = step % 3 === 2 && meta.previous !== null;
    if (back) {
      const { data } = await list({ before: meta.previous });
      t.same(idsOf(data), expected.slice(Math.max(0, place - limit), place), `before ${place}: ${what}`);
    }
    cursor = { after: meta.next };
    place += limit;
  }
  let end = expected.length;
  cursor = { before: '' };
  for (let step = 0; step < 4 && end > 0; step++) {
    const { data, meta } = await list(cursor);
    t.same(idsOf(data), expected.slice(Math.max(0, end - limit), end), `before ${end}: ${what}`);
    cursor = { before: meta.previous };
    end -= limit;
  }
}

async function askInGraphQL(
  t: Test,
  call: Service['call'],
  asked: Asked[],
  sort: string,
  expected: Specimen[],
  what: string,
) {
  const given = asArguments(asked);
  const inside = asArguments(asked.filter(({ name }) => !name.startsWith('burrow')));
  const order = `sort: ${sort.replace(/-(.*)/, '$1_desc')}`;
  const all = (args: string[]) => (args.length > 0 ? `(${args})` : '');
  const query = `{ specimensCount${all(given)} specimens(${[order, 'limit: 9', ...given]}) { id }
    specimensConnection(${[order, 'last: 9', ...given]}) { totalCount nodes { id } }
    burrows { id specimensCount${all(inside)} specimens(${[order, 'limit: 9', ...inside]}) { id } } }`;
  const { data, errors } = (await call('POST', '/api/graphql', 200, { body: { query } })).body;
  t.equal(errors, undefined, query);
  t.equal(data.specimensCount, expected.length, what);
  t.same(idsOf(data.specimens), idsOf(expected.slice(0, 9)), query);
  t.same(idsOf(data.specimensConnection.nodes), idsOf(expected.slice(-9)), query);
  if (inside.length < given.length) return;
  for (const burrow of data.burrows) {
    const own = expected.filter(({ burrowId }) => burrowId === burrow.id);
    t.same([burrow.specimensCount, idsOf(burrow.specimens)], [own.length, idsOf(own.slice(0, 9))], query);
  }
}

t.test('every combination of filters, operators, words, sorts, pages and cursors is exact', async t => {
  await askAtRandom(t, await openTestDatabase(t));
});

const skip = (backend === 'embedded' || isDistributed) && 'needs a server of PostgreSQL';
t.test('so it is with the collation of ICU', { skip }, async t => {
  const url = await createPostgres(t, { empty: true, locale: "locale_provider icu icu_locale 'tr-TR'" });
  const database = openPostgres({ url, connections: 4 }, testLog);
  t.teardown(() => database.close());
  await database.ready;
  await makeTables(database.writes);
  await askAtRandom(t, database);
});
