import postgres from 'postgres';
import t, { type Test } from 'tap';
import type { Context } from '#src/access/context.ts';
import { newId } from '#src/core/ids.ts';
import { type Connection, workInside } from '#src/database/connection.ts';
import { types } from '#src/database/postgres/client.ts';
import { handlers } from '#src/domain/handlers/index.ts';
import { findSubscription } from '#src/subscriptions/read.ts';
import { actOnEvent, dismissal, replay } from '#src/webhooks/events.ts';
import { giveUp, processBatch } from '#src/webhooks/processing.ts';
import { type Batch, takeBatch } from '#src/webhooks/queue.ts';
import { inside } from '#test/helper/access.ts';
import { createPostgres, isDistributed } from '#test/helper/database.ts';
import { lifeOf } from '#test/helper/events/stripeLife.ts';
import { receive } from '#test/helper/events/webhooks.ts';

/** A connection, and the shards that each of its statements asked, as the database tells them. */
async function openWatched(t: Test) {
  const asked: { text: string; shards: Set<string> }[] = [];
  const commits: string[] = [];
  const written = new Set<string>();
  const onnotice = ({ message = '', detail = '' }) => {
    const [, verb = ''] = /^issuing (INSERT|UPDATE|DELETE|COMMIT$|PREPARE TRANSACTION)/.exec(message) ?? [];
    if (/COMMIT|PREPARE/.test(verb)) {
      // Nodes that were only read need no second phase.
      if (written.delete(detail)) commits.push(verb);
    } else if (verb) written.add(detail);
    for (const [shard] of message.matchAll(/\b(webhook_events|subscriptions)_\d{6,}\b/g))
      asked.at(-1)?.shards.add(shard);
  };
  const client = postgres(await createPostgres(t), { max: 1, onnotice, types });
  t.teardown(() => client.end());
  await client.unsafe('set citus.log_remote_commands = on');
  const rowsBy =
    (sql: Pick<postgres.Sql, 'unsafe'>): Connection['rows'] =>
    async (text, params) => {
      asked.push({ text, shards: new Set() });
      return sql.unsafe(text, params as never[], { prepare: true }).values();
    };
  const db: Connection = {
    isTransaction: false,
    rows: rowsBy(client),
    transaction: async work => {
      const { value } = await client.begin(async sql => ({ value: await workInside(rowsBy(sql), work) }));
      return value;
    },
  };
  return { context: inside({ writes: db }), asked, commits };
}

const skip = !isDistributed && 'needs a distributed database: npm test -- citus';

const retries = { most: 3, delay: 0 };
const take = ({ db }: Context, isAlone = false) =>
  takeBatch(db, newId(Date.now()), isAlone) as Promise<Batch>;

t.test(
  'no statement of a delivery or its processing asks another shard than those of its events',
  { skip },
  async t => {
    const { context, asked } = await openWatched(t);
    /** Does work for this many events, and checks that it asks no more shards. */
    async function step<T>(name: string, events: number, work: () => Promise<T>): Promise<T> {
      asked.length = 0;
      const result = await work();
      for (const { text, shards } of asked)
        for (const table of ['webhook_events', 'subscriptions']) {
          const count = [...shards].filter(shard => shard.startsWith(`${table}_`)).length;
          t.ok(count <= events, `${name}: ${count} shards of ${table} for ${text.slice(0, 60)}`);
        }
      return result;
    }
    async function deliver(event: object) {
      await step('a delivery', 1, () => receive(context, event));
      t.ok(
        asked.some(({ shards }) => shards.size > 0),
        'shards are seen at all',
      );
      await step('a repeated delivery', 1, () => receive(context, event));
    }

    // Repeats each step: prepared statements get another plan after some executions.
    for (const event of lifeOf('cus_1')) {
      await deliver(event);
      const failed = await take(context);
      await step('a failure', 1, () => giveUp(context, failed, new Error('once'), retries));
      const batch = await take(context, true);
      await step('an attempt', 1, () => processBatch(context, handlers, batch));
      await step('a read of the subscription', 1, () => findSubscription(context, 'cus_1'));
    }
    for (const customer of ['cus_2', 'cus_3', 'cus_4', 'cus_5', 'cus_6', 'cus_7']) {
      for (const event of lifeOf(customer).slice(0, 3)) await deliver(event);
      const batch = await take(context);
      const done = await step('a batch', 3, () => processBatch(context, handlers, batch));
      t.equal(done.length, 3);
    }
  },
);

// Bug: the event was committed on its node, and then its place in the queue. A crash in between lost the event.
t.test('what is written on several nodes is committed in two phases', { skip }, async t => {
  const { context, commits } = await openWatched(t);
  const phasesOf = async (work: () => Promise<unknown>) => {
    commits.length = 0;
    await work();
    return [...new Set(commits)];
  };
  const inTwo = ['PREPARE TRANSACTION'];
  for (const event of lifeOf('cus_1')) {
    t.same(await phasesOf(() => receive(context, event)), inTwo, 'an event and its place in the queue');
    const first = await take(context);
    t.same(await phasesOf(() => giveUp(context, first, new Error('once'), retries)), inTwo, 'a failure');
    const batch = await take(context, true);
    t.same(await phasesOf(() => processBatch(context, handlers, batch)), inTwo, 'an event and its effect');
  }
  const { id } = await receive(context, { id: 'evt_ignored', type: 'customer.created' });
  t.same(await phasesOf(() => actOnEvent(context, replay, id)), inTwo, 'a replay');
  const batch = await take(context);
  for (let n = 0; n <= retries.most; n++)
    await giveUp(context, n === 0 ? batch : await take(context, true), new Error('always'), retries);
  t.same(await phasesOf(() => actOnEvent(context, dismissal, id)), inTwo, 'a dismissal');
});
