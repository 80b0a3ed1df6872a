// runs: in its own process
import t, { type Test } from 'tap';
import { connectTo, pooledConnection } from '#src/database/postgres/client.ts';
import { createPostgres } from '#test/helper/database.ts';
import { outcome } from '#test/helper/servers/fakeServer.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { onPostgres } from './client.ts';

const data = Buffer.from('\\x00');

/** Has each connection prepare statements, then makes them outdated by this change. */
async function outdatedStatements(t: Test, change: string) {
  const url = await createPostgres(t, { empty: true });
  const items = async () => (await queryPostgres(url, 'select * from items order by id')) as { id: number }[];
  await queryPostgres(url, 'create table items (id int, done bool, data bytea, price text)');
  const pool = connectTo({ url, connections: 2 });
  t.teardown(() => pool.close());
  const db = pooledConnection(pool);
  const add = (id: number, { rows } = db) =>
    rows('insert into items values ($1, $2, $3, $4) returning price', [id, true, data, `${id}`]);
  const find = (id: number) => db.rows('select id from items where price = $1', [`${id}`]);
  const other = (id: number) => db.rows('select $1::text', [`${id}`]);
  await Promise.all([add, add, find, find, other, other].map(prepare => prepare(0)));
  if (change === 'deallocate all') await Promise.all([pool.sql.unsafe(change), pool.sql.unsafe(change)]);
  else await queryPostgres(url, `truncate items; alter table items ${change}`);
  return { db, items, add, find, other };
}

const toVarchar = 'alter price type varchar(9)';
const toInt = 'alter price type int using price::int';

// Bug: the driver repeated outdated statements itself. They got the answers of others or waited forever, `true` was
// stored as `false`, and what a transaction had sent was stored after its rollback.
for (const change of [toVarchar, toInt, 'deallocate all'])
  t.test(`outdated statements are answered, and done once: ${change}`, onPostgres, async t => {
    const { items, add, find, other } = await outdatedStatements(t, change);
    const ids = Array.from({ length: 30 }, (_, i) => 10 + i);
    const price = (id: number) => (change === toInt ? id : `${id}`);
    const work = ids.map(async id => {
      t.same(await Promise.all([add(id), other(id)]), [[[price(id)]], [[`${id}`]]]);
      t.same(await Promise.all([find(id), other(id)]), [[[id]], [[`${id}`]]]);
    });
    t.equal(await outcome(Promise.all(work)), 'done');
    const stored = (await items()).filter(({ id }) => id > 0);
    t.same(
      stored,
      ids.map(id => ({ id, done: true, data, price: price(id) })),
    );
  });

t.test('a transaction with outdated statements is done again as a whole', onPostgres, async t => {
  const { db, items, add } = await outdatedStatements(t, toVarchar);
  let attempts = 0;
  const work = () =>
    db.transaction(async inside => {
      attempts++;
      await inside.rows('insert into items values (1)', []);
      return Promise.all([add(2, inside), add(3, inside)]);
    });
  for (let i = 0; i < 6; i++) t.same(await work(), [[['2']], [['3']]]);
  t.equal(attempts, 8, 'once for each connection, which then prepares the statement again');
  t.equal((await items()).length, 18);
});

t.test('an outdated statement is not repeated after the rollback of its transaction', onPostgres, async t => {
  const { db, items, add } = await outdatedStatements(t, toVarchar);
  const work = db.transaction(async inside => {
    add(1, inside).catch(() => {});
    await null;
    throw Object.assign(new Error('rollback'), { code: 'wrong' });
  });
  t.equal(await outcome(work), 'wrong');
  t.same(await items(), []);
});
