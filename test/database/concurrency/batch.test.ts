import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { eq, sql } from '../../../drizzle/orm.ts';
import { auditLog } from '../../../drizzle/tables/auditLog.ts';
import { users } from '../../../drizzle/tables/users.ts';
import { newId } from '../../../src/core/ids.ts';
import { batch } from '../../../src/database/concurrency/batch.ts';
import { orm } from '../../../src/database/connection.ts';
import { openPostgres } from '../../../src/database/postgres/postgres.ts';
import { inTransaction } from '../../../src/database/write.ts';
import { changeUser, createUser, user as kind } from '../../../src/services/users.ts';
import { inside } from '../../helper/access.ts';
import {
  backend,
  countRows,
  createPostgres,
  noDatabase,
  openTestDatabase,
  testLog,
} from '../../helper/database.ts';
import { outcome } from '../../helper/servers/fakeServer.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const person = (name: string) => ({ name, email: `${name}@example.com` });

t.test('requests of one turn of the event loop become one batch, of a bounded size', async t => {
  const sizes: number[] = [];
  const double = batch('reads', async (_db, keys: number[]) => {
    sizes.push(keys.length);
    return keys.map(key => key * 2);
  });
  const answers = await Promise.all(numbers(450).map(key => double(noDatabase, key)));
  t.same(
    answers,
    numbers(450).map(key => key * 2),
  );
  t.same(sizes, [200, 200, 50]);
});

t.test('heavy keys share a batch with fewer others, and the heaviest go alone', async t => {
  const groups: number[][] = [];
  const carry = batch(
    'reads',
    async (_db, keys: number[]) => {
      groups.push(keys);
      return keys;
    },
    { weightOf: key => key, parallel: 1 },
  );
  await Promise.all([150, 50, 1, 900, 20].map(key => carry(noDatabase, key)));
  t.same(groups, [[150, 50], [1], [900], [20]]);
});

t.test('no request joins a batch that was sent: no answer is older than its request', async t => {
  let stored = 'old';
  const gates: PromiseWithResolvers<void>[] = [];
  const read = batch('reads', async (_db, keys: string[]) => {
    const snapshot = stored;
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    await gate.promise;
    return keys.map(() => snapshot);
  });
  const before = read(noDatabase, 'key');
  await turn();
  t.equal(gates.length, 1, 'the first one is under way');
  stored = 'new';
  const after = read(noDatabase, 'key');
  for (let i = 0; i < 2; i++) {
    await turn();
    gates[i]?.resolve();
  }
  t.same([await before, await after], ['old', 'new']);
});

t.test('every read that begins after a write sees it, even with many readers', async t => {
  const context = inside(await openTestDatabase(t));
  const user = await createUser(context, person('ada'));
  let writing = true;
  const readers = numbers(5).map(async () => {
    while (writing) await kind.get(context, user.id);
  });
  for (let version = 0; version < 50; version++) {
    await changeUser(context, user.id, { name: `Ada ${version}` });
    t.equal((await kind.get(context, user.id)).name, `Ada ${version}`);
  }
  writing = false;
  await Promise.all(readers);
});

t.test('a refused row does not affect the others, and leaves no audit entry', async t => {
  const context = inside(await openTestDatabase(t));
  const { db } = context;
  const names = ['a', 'b', 'a', 'c', 'd', 'b', 'e'];
  const results = await Promise.allSettled(names.map(name => createUser(context, person(name))));
  t.equal(results.filter(({ status }) => status === 'rejected').length, 2);
  const stored = await orm(db).select().from(users);
  t.same(stored.map(({ name }) => name).sort(), ['a', 'b', 'c', 'd', 'e']);
  const entries = await orm(db).select({ id: auditLog.recordId }).from(auditLog);
  t.same(entries.map(({ id }) => id).sort(), stored.map(({ id }) => id).sort());
  t.same(
    results.flatMap(result => (result.status === 'fulfilled' ? result.value.id : [])).sort(),
    stored.map(({ id }) => id).sort(),
    'exactly the confirmed users are stored',
  );
});

t.test('statements inside a transaction run there, and are not batched', async t => {
  const context = inside(await openTestDatabase(t));
  const ada = await createUser(context, person('ada'));
  const outcome = inTransaction(context, async within => {
    await orm(within.db).update(users).set({ name: 'Countess' }).where(eq(users.id, ada.id));
    // With only one connection, a read outside would wait for the transaction to end.
    const outside = backend === 'postgres' ? kind.get(context, ada.id) : undefined;
    t.equal((await kind.get(within, ada.id)).name, 'Countess');
    t.equal((await outside)?.name ?? 'ada', 'ada');
    await createUser(within, person('bob'));
    throw new Error('undone');
  });
  await t.rejects(outcome, { message: 'undone' });
  const sizes: number[] = [];
  const note = batch('reads', async (_db, keys: number[]) => {
    sizes.push(keys.length);
    return keys;
  });
  await inTransaction(context, within => Promise.all([1, 2].map(key => note(within.db, key))));
  t.same(sizes, [1, 1]);
  t.equal((await kind.get(context, ada.id)).name, 'ada');
  t.equal(await countRows(context.db, users), 1);
});

t.test(
  'a batch that meets a lock is tried one by one, all at once; after other refusals, by halves',
  async t => {
    const end = Promise.withResolvers<void>();
    const sizes: number[] = [];
    const write = (code: string) =>
      batch('reads', async (_db, keys: number[]) => {
        sizes.push(keys.length);
        if (keys.length > 1) throw Object.assign(new Error('refused'), { code });
        // The first one waits until the last has begun.
        if (sizes.length === 1 + 8) end.resolve();
        await end.promise;
        return keys;
      });
    const locked = write('55P03');
    const answers = Promise.all(numbers(8).map(key => locked(noDatabase, key)));
    t.equal(await outcome(answers), 'done', 'the first one does not hold up the others');
    end.resolve();
    t.same(await answers, numbers(8));
    t.same(sizes.splice(0), [8, 1, 1, 1, 1, 1, 1, 1, 1]);
    const refused = write('23514');
    t.same(await Promise.all(numbers(8).map(key => refused(noDatabase, key))), numbers(8));
    t.same(sizes, [8, 4, 2, 1, 1, 2, 1, 1, 4, 2, 1, 1, 2, 1, 1]);
  },
);

for (const code of ['CONNECTION_CLOSED', 'EPIPE', '57P01', '08006'])
  t.test(`without an answer (${code}) every caller gets the error, and nothing is done twice`, async t => {
    let calls = 0;
    const write = batch('reads', async (_db, _keys: number[]) => {
      calls++;
      throw Object.assign(new Error('gone'), { code });
    });
    const results = await Promise.allSettled(numbers(8).map(key => write(noDatabase, key)));
    t.ok(results.every(result => result.status === 'rejected' && result.reason.code === code));
    t.equal(calls, 1);
  });

t.test('a connection lost during an insert stores nothing', { skip: backend !== 'postgres' }, async t => {
  const database = openPostgres({ url: await createPostgres(t), connections: 4 }, testLog);
  t.teardown(() => database.close());
  await database.ready;
  const context = inside(database);
  const { db } = context;
  await db.transaction(async tx => {
    await orm(tx).execute(sql`lock table users in exclusive mode`);
    const writes = Promise.allSettled(numbers(6).map(n => createUser(context, person(`u${n}`))));
    // Queried outside the transaction, which would see the same snapshot each time.
    const waiting = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    for (let ended = 0; ended === 0; await turn(undefined))
      ended = (await orm(database.reads).execute(waiting)).length;
    const results = await writes;
    t.ok(results.every(({ status }) => status === 'rejected'));
  });
  t.equal(await countRows(db, users), 0, 'no insert was confirmed, and none was stored');
  const user = await createUser(context, { name: 'after', email: `${newId(Date.now())}@example.com` });
  t.equal((await kind.get(context, user.id)).name, 'after');
});
