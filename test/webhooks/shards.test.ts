import postgres from 'postgres';
import t, { type Test } from 'tap';
import type { Job } from '../../src/core/context.ts';
import { type Connection, workInside } from '../../src/database/connection.ts';
import { getSubscription } from '../../src/services/subscriptions/read.ts';
import { unfinishedJobs } from '../../src/webhooks/eventJobs.ts';
import { handlers } from '../../src/webhooks/handlers/index.ts';
import { receiveEvent } from '../../src/webhooks/inbox.ts';
import { type Claimed, claimEvent, failEvent, processEvents } from '../../src/webhooks/processing.ts';
import { inside } from '../helper/access.ts';
import { createPostgres, isDistributed } from '../helper/database.ts';
import { lifeOf } from '../helper/events/stripeLife.ts';
import { jobOf, stripeProvider } from '../helper/webhooks.ts';

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
    for (const [shard] of message.matchAll(
      /\b(webhook_events|webhook_event_repeats|subscriptions)_\d{6,}\b/g,
    ))
      asked.at(-1)?.shards.add(shard);
  };
  const client = postgres(await createPostgres(t), { max: 1, onnotice });
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
  const context = { ...inside({ writes: db }), queue: { ready: Promise.resolve(), add: async () => {} } };
  const receive = (event: object) => {
    const delivery = { provider: stripeProvider, headers: {}, body: Buffer.from(JSON.stringify(event)) };
    return receiveEvent(context, handlers, delivery);
  };
  return { context, receive, asked, commits };
}

const skip = !isDistributed && 'needs a distributed database: node scripts/test.ts citus';

t.test(
  'no statement of a delivery or its processing asks another shard than those of its events',
  { skip },
  async t => {
    const { context, asked, receive } = await openWatched(t);
    /** Does the work of so many events. */
    async function step<T>(name: string, events: number, work: () => Promise<T>): Promise<T> {
      asked.length = 0;
      const result = await work();
      for (const { text, shards } of asked)
        for (const table of ['webhook_events', 'webhook_event_repeats', 'subscriptions']) {
          const count = [...shards].filter(shard => shard.startsWith(`${table}_`)).length;
          t.ok(count <= events, `${name}: ${count} shards of ${table} for ${text.slice(0, 60)}`);
        }
      t.ok(
        asked.some(({ shards }) => shards.size > 0),
        `${name}: shards are seen at all`,
      );
      return result;
    }
    async function deliver(event: object) {
      const { id = '', eventId } = await step('a delivery', 1, () => receive(event));
      await step('a repeated delivery', 1, () => receive(event));
      return jobOf({ id, eventId: eventId ?? '' });
    }

    // Prepared statements get another plan after some executions.
    for (const event of lifeOf('cus_1')) {
      const job = await deliver(event);
      const claimed = await step('a claim', 1, () => claimEvent(context, job));
      await step('a failure', 1, () => failEvent(context, claimed as Claimed, new Error('once'), 3));
      await step('an attempt', 1, () => processEvents(context, handlers, [job], 'processing'));
      t.same(await step('a look for what is left', 1, () => unfinishedJobs(context, [job])), []);
      await step('a read of the subscription', 1, () => getSubscription(context, 'cus_1'));
    }
    for (const customer of ['cus_2', 'cus_3', 'cus_4', 'cus_5', 'cus_6', 'cus_7']) {
      const jobs: Job[] = [];
      for (const event of lifeOf(customer).slice(0, 3)) jobs.push(await deliver(event));
      const done = await step('a batch', 3, () => processEvents(context, handlers, jobs, 'received'));
      t.equal(done.length, 3);
    }
  },
);

// Bug: the event was committed on its node, and then the job on the coordinator. A crash in between lost the job.
t.test('what is written on several nodes is committed in two phases', { skip }, async t => {
  const { context, receive, commits } = await openWatched(t);
  for (const event of lifeOf('cus_1')) {
    commits.length = 0;
    const { id = '', eventId } = await receive(event);
    t.same(commits, ['PREPARE TRANSACTION'], 'an event and its job');
    await processEvents(context, handlers, [jobOf({ id, eventId: eventId ?? '' })], 'received');
    t.same([...new Set(commits)], ['PREPARE TRANSACTION'], 'an event, its effect and the audit log');
  }
});
