import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { users } from '../../drizzle/tables/users.ts';
import { newId } from '../../src/core/ids.ts';
import { orm } from '../../src/database/connection.ts';
import { openPostgres } from '../../src/database/postgres/postgres.ts';
import { user as kind, users as people } from '../../src/services/users.ts';
import { inside } from '../helper/access.ts';
import { backend, countRows, createPostgres, testLog } from '../helper/database.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const person = (name: string) => ({ name, email: `${name}@example.com` });

t.test('a connection lost during an insert stores nothing', { skip: backend !== 'postgres' }, async t => {
  const database = openPostgres({ url: await createPostgres(t), connections: 4 }, testLog);
  t.teardown(() => database.close());
  await database.ready;
  const context = inside(database);
  const { db } = context;
  await db.transaction(async tx => {
    await orm(tx).execute(sql`lock table users in exclusive mode`);
    const writes = Promise.allSettled(numbers(6).map(n => people.create(context, person(`u${n}`))));
    // Queried outside the transaction, which would see the same snapshot each time.
    const waiting = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    for (let ended = 0; ended === 0; await turn(undefined))
      ended = (await orm(database.reads).execute(waiting)).length;
    const results = await writes;
    t.ok(results.every(({ status }) => status === 'rejected'));
  });
  t.equal(await countRows(db, users), 0, 'no insert was confirmed, and none was stored');
  const user = await people.create(context, { name: 'after', email: `${newId(Date.now())}@example.com` });
  t.equal((await kind.get(context, user.id)).name, 'after');
});
