import t from 'tap';
import { subscriptions } from '../../../drizzle/tables/subscriptions.ts';
import type { SubscriptionStatus } from '../../../schemas/subscription.ts';
import type { Context } from '../../../src/core/context.ts';
import { orm } from '../../../src/database/connection.ts';
import type { Database } from '../../../src/database/database.ts';
import { inTransaction, waitLongerForLocks } from '../../../src/database/transaction.ts';
import { changeSubscriptions } from '../../../src/services/subscriptions/changeSubscriptions.ts';
import { inside } from '../../helper/access.ts';
import { backend, openTestDatabase } from '../../helper/database.ts';
import { applyTogether, eventAt, timeAt } from '../../helper/webhooks.ts';
import { until } from '../../rig/process.ts';

// Transactions overlap only on a server. No test here depends on times: each waits until PostgreSQL says who waits.
const test = backend === 'postgres' ? t.test.bind(t) : t.skip.bind(t);

const batchOf = (status: SubscriptionStatus, second: number, customers: string[]) =>
  customers.map(customer => eventAt(status, second, customer));

/** Applies a batch as a worker does. `tries` is more than 1 after a deadlock. */
function startWorker(
  database: Database,
  events: ReturnType<typeof batchOf>,
  beforeWrite = () => Promise.resolve(),
) {
  const worker = { tries: 0, done: Promise.resolve() };
  async function work(within: Context) {
    worker.tries++;
    const { db } = within;
    await waitLongerForLocks(db);
    const rows: typeof db.rows = async (text, params) => {
      if (/^(insert into|update) "subscriptions"/.test(text)) await beforeWrite();
      return db.rows(text, params);
    };
    await changeSubscriptions({ ...within, db: { ...db, rows } }, events);
  }
  worker.done = inTransaction(inside(database), work, { forSeveral: true });
  // It is awaited later, and must not end the process until then.
  worker.done.catch(() => {});
  return worker;
}

/** The same, stopped before it writes what it has decided. */
async function startAndStop(database: Database, events: ReturnType<typeof batchOf>) {
  const [arrived, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const worker = startWorker(database, events, () => {
    arrived.resolve();
    return gate.promise;
  });
  await arrived.promise;
  return { worker, go: gate.resolve };
}

/** Another session, which has run a statement and keeps its locks until the function that is returned is called. */
async function hold({ writes }: Database, statement: string) {
  const [held, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = writes.transaction(async db => {
    await db.rows(statement, []);
    held.resolve();
    await gate.promise;
  });
  await held.promise;
  return () => {
    gate.resolve();
    return holding;
  };
}

const waitFor = ({ reads }: Database, sessions: number) =>
  until(`${sessions} wait for a lock`, async () => {
    const query = `select count(*)::integer from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    const [[waiting] = []] = await reads.rows(query, []);
    return waiting === sessions;
  });

async function statesOf({ writes }: Database) {
  const { customer, status, statusAt, version } = subscriptions;
  const states = orm(writes).select({ customer, status, statusAt, version });
  return states.from(subscriptions).orderBy(customer);
}

const elsewhere = {
  created: `insert into subscriptions (id, customer, provider, status, status_at, created_at, updated_at)
    values (gen_random_uuid(), 'cus_2', 'stripe', 'trialing', '${timeAt(1)}', now(), now())`,
  changed: `update subscriptions set status = 'past_due', status_at = '${timeAt(2)}', version = version + 1`,
};
for (const [what, statement] of Object.entries(elsewhere))
  test(`a batch gives up when a worker that does not know the lock has ${what} a subscription, and takes effect later`, async t => {
    const database = await openTestDatabase(t);
    const context = inside(database);
    const known = what === 'changed' ? ['cus_1', 'cus_2'] : ['cus_1'];
    await applyTogether(context, batchOf('incomplete', 0, known));
    const events = batchOf('active', 3, ['cus_1', 'cus_2']);
    const { worker, go } = await startAndStop(database, events);
    await database.writes.rows(statement, []);
    go();
    await t.rejects(worker.done, /Another worker changed the same subscriptions/);
    await applyTogether(context, events);
    const states = await statesOf(database);
    t.same(
      states.map(({ customer, status, statusAt }) => [customer, status, statusAt]),
      ['cus_1', 'cus_2'].map(customer => [customer, 'active', timeAt(3)]),
    );
    t.equal(states.at(-1)?.version, what === 'changed' ? 3 : 2, 'both changes count');
  });

test('a worker waits for another with the same new customer, and continues from its state', async t => {
  const database = await openTestDatabase(t);
  const { worker, go } = await startAndStop(database, batchOf('trialing', 1, ['cus_1']));
  const other = startWorker(database, batchOf('active', 3, ['cus_1', 'cus_2']));
  await waitFor(database, 1);
  go();
  await Promise.all([worker.done, other.done]);
  t.equal(worker.tries + other.tries, 2);
  t.match(await statesOf(database), [
    { customer: 'cus_1', status: 'active', version: 2 },
    { customer: 'cus_2', status: 'active', version: 1 },
  ]);
});

test('two batches that name the same customers in opposite orders do not deadlock', async t => {
  const database = await openTestDatabase(t);
  const key = `hashtextextended('stripe:' || customer, 0)`;
  const inOrder = `select customer from unnest('{cus_1, cus_2, cus_3}'::text[]) as customer order by ${key}`;
  const customers = (await database.reads.rows(inOrder, [])).flat() as string[];
  // Both wait in the middle of their locks, so one that began at the other end would have what the first needs next.
  const middle = `select pg_advisory_xact_lock(${key}) from (values ('${customers[1]}')) as middle (customer)`;
  const release = await hold(database, middle);
  const first = startWorker(database, batchOf('active', 1, customers));
  await waitFor(database, 1);
  const second = startWorker(database, batchOf('past_due', 2, customers.toReversed()));
  await waitFor(database, 2);
  await release();
  await Promise.all([first.done, second.done]);
  t.equal(first.tries + second.tries, 2);
  const states = await statesOf(database);
  t.equal(states.length, 3);
  for (const state of states) t.match(state, { status: 'past_due', statusAt: timeAt(2) });
});
