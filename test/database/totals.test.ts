import t, { type Test } from 'tap';
import { type SQL, sql } from '../../drizzle/orm.ts';
import { newId } from '../../src/core/ids.ts';
import { type Connection, orm } from '../../src/database/connection.ts';
import type { Database } from '../../src/database/database.ts';
import { openPostgres } from '../../src/database/postgres/postgres.ts';
import { repairCounts } from '../../src/database/statements/pageQuery.ts';
import { backend, createPostgres, openTestDatabase, select, testLog } from '../helper/database.ts';
import { randomFrom, seed } from '../helper/random.ts';

/** Fewer writes on the embedded database, which has one connection. */
const load = backend === 'postgres' ? { writers: 6, steps: 250 } : { writers: 1, steps: 120 };
const authors = Array.from({ length: 4 }, () => newId(Date.UTC(2025, 0, 1)));
const random = randomFrom(seed);
const below = (limit: number) => Math.floor(random() * limit);
const any = <T>(list: T[]) => list[below(list.length)] as T;

async function openDatabase(t: Test): Promise<Database> {
  if (backend === 'embedded') return openTestDatabase(t);
  const database = openPostgres({ url: await createPostgres(t), connections: load.writers + 2 }, testLog);
  t.teardown(() => database.close());
  await database.ready;
  return database;
}

/** Ids of an earlier time, among the others, or of now, after all others. */
const someId = () => newId(below(3) ? Date.UTC(2025, 0, 1) + below(1e9) : Date.now());
const insertPosts = (amount: number) => sql`
  insert into posts (id, title, status, author_id, created_at, updated_at)
  select id::uuid, 'x', case when random() < 0.3 then 'draft' else 'published' end, ${any(authors)}, now(), now()
  from unnest(${`{${Array.from({ length: amount }, someId).join()}}`}::text::text[]) as new (id)`;
const somePosts = (amount: number) =>
  sql`(select id from posts where id >= ${someId()} order by id limit ${amount})`;

/** One random write; some fail, and some are rolled back. */
async function write(db: Connection): Promise<void> {
  const statements: (() => SQL)[] = [
    () => insertPosts(1),
    () => insertPosts(1 + below(40)),
    () => insertPosts(any([1, 1200])),
    () => sql`delete from posts where id in ${somePosts(1 + below(300))}`,
    () =>
      sql`update posts set status = case status when 'draft' then 'published' else 'draft' end where id in ${somePosts(50)}`,
    () => sql`update posts set author_id = ${any(authors)} where id in ${somePosts(50)}`,
    () => sql`update posts set title = 'y' where id in ${somePosts(50)}`,
    () =>
      sql`insert into users (id, name, email, created_at, updated_at) values (${someId()}, 'u', ${`${someId()}@example.com`}, now(), now())`,
    () =>
      sql`delete from users where id in (select id from users where name = 'u' and id >= ${someId()} order by id limit 3)`,
    () => sql`insert into posts select * from posts limit 1`,
  ];
  const undone = random() < 0.1;
  await db
    .transaction(async tx => {
      for (let left = 1 + below(3); left > 0; left--) await orm(tx).execute(any(statements)());
      if (undone) throw new Error('undone');
    })
    .catch(() => {});
}

/** Compares every kind of list with count(*) and OFFSET, in one snapshot. */
async function compare(t: Test, db: Connection): Promise<void> {
  const lists = [
    ['users', ''],
    ['posts', ''],
    ['posts', 'status=draft'],
    ['posts', 'status=published'],
    ...authors.map(id => ['posts', `author_id=${id}`]),
  ] as [string, string][];
  for (const [source, part] of lists) {
    const [column = '', value = ''] = part.split('=');
    const where = part ? sql`${sql.identifier(column)} = ${value}` : sql`true`;
    const ids = sql`select id from ${sql.identifier(source)} where ${where}`;
    for (const backward of [false, true])
      for (let tries = 0; tries < 4; tries++) {
        const share = tries === 0 ? 0 : random() * 1.05;
        const [row] = await select(
          db,
          sql`with truth as (select count(*) as total, floor(count(*) * ${share}::float8)::bigint as skip from (${ids}) as all_rows)
            select truth.total, place.total as counted, skip, bound, rest,
              (select array_agg(id::text) from (${ids} order by id ${sql.raw(backward ? 'desc' : 'asc')} offset skip limit 3) as expected) as expected,
              (select array_agg(id::text) from (${ids} and id ${sql.raw(backward ? '<' : '>=')} place.bound
                order by id ${sql.raw(backward ? 'desc' : 'asc')} offset place.rest limit 3) as found) as found
            from truth, list_place(${source}, ${part}, truth.skip, ${backward}) as place`,
        );
        if (row?.counted === null) continue;
        t.same(
          { total: String(row?.counted), ids: row?.found },
          { total: String(row?.total), ids: row?.expected },
          `${source} ${part} skip ${row?.skip} of ${row?.total} ${backward ? 'backward' : ''} rest ${row?.rest}`,
        );
      }
  }
}

const treeLevels = sql`select source, part, level, sum(amount)::text as amount, min(amount)::int as least from list_counts group by 1, 2, 3 order by 1, 2, 3`;

t.test(
  `totals and positions are exact during random writes on several connections, TEST_SEED=${seed}`,
  async t => {
    const { writes: db } = await openDatabase(t);
    for (const id of authors)
      await orm(db).execute(
        sql`insert into users (id, name, email, created_at, updated_at) values (${id}, 'author', ${`${id}@example.com`}, now(), now())`,
      );
    await orm(db).execute(insertPosts(3000));
    let writing = load.writers;
    const writers = Array.from({ length: load.writers }, async () => {
      for (let step = 0; step < load.steps; step++) await write(db);
      writing--;
    });
    while (writing > 0) await compare(t, db);
    await Promise.all(writers);
    await compare(t, db);
    for (const row of await select(db, treeLevels))
      t.ok(Number(row.least) >= 0, `no count is negative: ${row.part}`);
    const parts = (await select(db, sql`select distinct part from list_counts`)).length;
    t.ok(parts > 2, 'large parts have trees of their own');

    await orm(db).execute(sql`select list_refresh()`);
    const [left] = await select(db, sql`select count(*)::int as changes from list_changes`);
    t.equal(left?.changes, 0, 'nothing is left to fold');
    const folded = await select(db, treeLevels);
    const [block] = await select(
      db,
      sql`select max(amount)::int as largest from list_counts where level = 0`,
    );
    t.ok(Number(block?.largest) <= 2048, 'no block stays too large');
    await repairCounts(db);
    const rebuilt = await select(db, treeLevels);
    const totals = (rows: typeof folded) =>
      new Map(rows.map(({ source, part, level, amount }) => [`${source} ${part} ${level}`, amount]));
    for (const [key, amount] of totals(rebuilt)) t.equal(totals(folded).get(key) ?? amount, amount, key);
  },
);

t.test('totals are exact for an empty table, after a truncate and after a repair', async t => {
  const { writes: db } = await openTestDatabase(t);
  await compare(t, db);
  await orm(db).execute(
    sql`insert into users (id, name, email, created_at, updated_at) values (${authors[0]}, 'a', 'a@example.com', now(), now())`,
  );
  authors.splice(1);
  await orm(db).execute(insertPosts(2500));
  await compare(t, db);
  await orm(db).execute(sql`truncate users, posts`);
  await compare(t, db);

  await orm(db).execute(
    sql`insert into users (id, name, email, created_at, updated_at) values (${authors[0]}, 'a', 'a@example.com', now(), now())`,
  );
  await orm(db).execute(sql`alter table posts disable trigger user`);
  await orm(db).execute(insertPosts(5000));
  await orm(db).execute(sql`alter table posts enable trigger user`);
  await repairCounts(db);
  await compare(t, db);
});
