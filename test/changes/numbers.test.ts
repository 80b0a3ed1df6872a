// runs: also on embedded
import t, { type Test } from 'tap';
import { sql } from '#drizzle/orm.ts';
import { auditLog } from '#drizzle/tables/service/auditLog.ts';
import { changes } from '#drizzle/tables/service/changes.ts';
import { numberChanges } from '#src/changes/numbers.ts';
import { type Connection, orm } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { openPostgres } from '#src/database/postgres/postgres.ts';
import { recordWrites } from '#src/records/audit.ts';
import { inside } from '#test/helper/access.ts';
import { backend, createPostgres, hold, openTestDatabase, testLog } from '#test/helper/database.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { until } from '#test/rig/process.ts';

const skip = backend === 'embedded' && 'it has one session';

/** Records changes of records by name, in the transaction of the connection, if it has one. */
const record = (database: Database, names: string[], db: Connection = database.writes) =>
  recordWrites(
    { ...inside(database), db },
    'burrow.change',
    names.map(recordId => ({ recordId, version: 2, sides: [{}] })),
  );

/** Records a change in a transaction that is rolled back. */
const fail = (t: Test, database: Database) =>
  t.rejects(
    database.writes.transaction(async db => {
      await record(database, ['failed'], db);
      throw new Error('rolled back');
    }),
    { message: 'rolled back' },
  );

/** The names of the numbered changes, in the order of their numbers, which begin with 1 and have no gap. */
async function numbered(t: Test, { reads }: Database): Promise<string[]> {
  const rows = await orm(reads)
    .select({ number: changes.number, name: auditLog.recordId })
    .from(changes)
    .innerJoin(auditLog, sql`${auditLog.id} = ${changes.entry}`)
    .orderBy(changes.number);
  t.same(
    rows.map(({ number }) => number),
    rows.map((_, i) => i + 1),
  );
  return rows.map(({ name }) => name);
}

/** The ordinals that the last call did not see, and those of them that it will forget. */
async function gaps({ reads }: Database) {
  const [row] = await reads.rows(
    `select (numbering).gaps::text, (numbering).old_gaps::text from changes order by number desc limit 1`,
    [],
  );
  return row;
}

t.test('changes are numbered once, in the order in which they were written', async t => {
  const database = await openTestDatabase(t);
  const names = ['a', 'b', 'c', 'a key', 'd'];
  await record(database, names.slice(0, 3));
  await recordWrites(inside(database), 'key.create', [{ recordId: 'a key' }]);
  await record(database, ['d']);
  const call = async () =>
    (await database.writes.rows('select newest, given from number_changes(2)', [])).flat();
  t.same((await call()).map(Number), [2, 2], 'no more than were asked for');
  t.same((await call()).map(Number), [4, 2]);
  t.same((await call()).map(Number), [5, 1]);
  t.same((await call()).map(Number), [5, 0]);
  t.same(await numbered(t, database), names);
  const rows = await orm(database.reads).select().from(changes).orderBy(changes.number);
  t.same(
    rows.map(({ numbering }) => numbering !== null),
    [true, false, true, false, true, true],
    'the last row of a call says how far it has seen',
  );
});

t.test(
  'a change gets its number when it is committed, and none that was committed waits for it',
  { skip },
  async t => {
    const database = await openTestDatabase(t);
    const commits = [];
    for (const name of ['early', 'long'])
      commits.push(await hold(database, db => record(database, [name], db)));
    await record(database, ['between']);
    await numberChanges(inside(database));
    t.same(await numbered(t, database), ['between']);
    t.same(await gaps(database), ['{[1,3)}', '{[1,3)}']);
    await commits[0]?.();
    await record(database, ['after']);
    await numberChanges(inside(database));
    t.same(
      await numbered(t, database),
      ['between', 'early', 'after'],
      'those of one call in the order of writing',
    );
    t.same((await gaps(database))?.[0], '{[2,3)}');
    await commits[1]?.();
    await numberChanges(inside(database));
    t.same(await numbered(t, database), ['between', 'early', 'after', 'long']);
    t.same((await gaps(database))?.[0], '{}');
  },
);

t.test(
  'what was rolled back is forgotten once no transaction can fill the gap, and not before',
  { skip },
  async t => {
    const database = await openTestDatabase(t);
    const next = async (name: string) => {
      await record(database, [name]);
      await numberChanges(inside(database));
      return (await gaps(database))?.[0];
    };
    const commit = await hold(database, db => record(database, ['open'], db));
    await fail(t, database);
    for (const name of ['a', 'b', 'c']) t.equal(await next(name), '{[1,3)}');
    await commit();
    // Transactions of other tests count as open ones, too.
    await until('it is forgotten', async () => (await next('d')) === '{}');
    t.same((await numbered(t, database)).slice(0, 5), ['a', 'b', 'c', 'open', 'd']);
  },
);

t.test(
  'in another server, where ids of transactions are lower, gaps are still forgotten in time',
  { skip },
  async t => {
    const database = await openTestDatabase(t);
    await record(database, ['a']);
    await numberChanges(inside(database));
    await database.writes.rows(`update changes set numbering.horizon = '999999999' where number = 1`, []);
    const commit = await hold(database, db => record(database, ['open'], db));
    await fail(t, database);
    for (const name of ['b', 'c', 'd']) {
      await record(database, [name]);
      await numberChanges(inside(database));
      t.equal((await gaps(database))?.[0], '{[2,4)}');
    }
    await commit();
    await until('they are forgotten', async () => {
      await record(database, ['e']);
      await numberChanges(inside(database));
      return (await gaps(database))?.[0] === '{}';
    });
    t.same((await numbered(t, database)).slice(0, 6), ['a', 'b', 'c', 'd', 'open', 'e']);
  },
);

t.test(
  'a transaction with another isolation loses the race instead of giving a number twice',
  { skip },
  async t => {
    const database = await openTestDatabase(t);
    await record(database, ['a']);
    const stale = database.writes.transaction(async db => {
      await db.rows('set transaction isolation level repeatable read', []);
      await db.rows('select 1', []);
      await numberChanges(inside(database));
      await db.rows('select number_changes(1)', []);
    });
    await t.rejects(stale, { code: '40001' });
    t.same(await numbered(t, database), ['a']);
  },
);

t.test(
  'whatever the isolation of the server is, calls wait for each other and none fails',
  { skip },
  async t => {
    const url = await createPostgres(t);
    await queryPostgres(
      url,
      `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'serializable'`,
    );
    const databases = Array.from({ length: 4 }, () => openPostgres({ url, connections: 2 }, testLog));
    t.teardown(() => Promise.all(databases.map(database => database.close())));
    for (const { ready } of databases) await ready;
    await Promise.all(
      databases.map(async (database, i) => {
        for (let n = 0; n < 50; n++) {
          await record(database, [`${i} ${n}`]);
          await numberChanges(inside(database));
        }
      }),
    );
    t.equal((await numbered(t, databases[0] as Database)).length, 200);
  },
);

t.test('what comes late in a gap is numbered before what follows, however much it is', { skip }, async t => {
  const database = await openTestDatabase(t);
  const call = () => database.writes.rows('select number_changes(5)', []);
  const late = Array.from({ length: 10 }, (_, i) => `late ${i}`);
  const commit = await hold(database, db => record(database, late, db));
  await record(database, ['first']);
  await call();
  await commit();
  await record(database, ['last']);
  for (let i = 0; i < 4; i++) await call();
  t.same(await numbered(t, database), ['first', ...late, 'last']);
});

t.test('numbers are given in a transaction that has written nothing before', async t => {
  const database = await openTestDatabase(t);
  const writing = database.writes.transaction(async db => {
    await record(database, ['b'], db);
    await db.rows('select number_changes(1)', []);
  });
  await t.rejects(writing, { code: '25001' });
  t.same(await numbered(t, database), []);
});
