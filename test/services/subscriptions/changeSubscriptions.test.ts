import t from 'tap';
import { asc, eq } from '../../../drizzle/orm.ts';
import { auditLog } from '../../../drizzle/tables/auditLog.ts';
import { subscriptions } from '../../../drizzle/tables/subscriptions.ts';
import type { SubscriptionStatus } from '../../../schemas/subscription.ts';
import { orm } from '../../../src/database/connection.ts';
import { inside } from '../../helper/access.ts';
import { openTestDatabase } from '../../helper/database.ts';
import { permutationsOf, randomFrom, seed } from '../../helper/values/random.ts';
import { applyTogether, eventAt as event, timeAt } from '../../helper/webhooks.ts';

t.test(
  'every permutation of a life, with repetitions, in two transactions at once, ends in the same state',
  async t => {
    const database = await openTestDatabase(t);
    const context = inside(database);
    const life: [SubscriptionStatus, number][] = [
      ['trialing', 0],
      ['active', 1],
      ['past_due', 2],
      ['active', 3],
      ['canceled', 3],
    ];
    const orders = permutationsOf(life);
    t.equal(orders.length, 120);
    const random = randomFrom(seed);
    // A customer for each order. Both queues have all events, interleaved, in groups of several customers.
    const queues = [1, 2].map(() =>
      life.flatMap((_, step) =>
        orders.map((order, n) => event(...(order[step] as (typeof life)[number]), `cus_${n}`)),
      ),
    );
    await Promise.all(
      queues.map(async queue => {
        while (queue.length > 0) {
          const group = queue.splice(0, 1 + Math.floor(random() * 150));
          group.push(...group.slice(0, 3));
          await applyTogether(context, group);
        }
      }),
    );
    const { customer, status, statusAt, version, activatedAt } = subscriptions;
    const rows = await orm(database.writes)
      .select({ customer, status, statusAt, version, activatedAt })
      .from(subscriptions);
    t.equal(rows.length, 120);
    for (const row of rows) {
      t.match(row, { status: 'canceled', statusAt: timeAt(3) }, `seed ${seed}`);
      const entries = await orm(database.writes)
        .select({ details: auditLog.details })
        .from(auditLog)
        .where(eq(auditLog.recordId, `stripe:${row.customer}`))
        .orderBy(asc(auditLog.id));
      const story = entries.map(({ details }) => details);
      t.equal(story.length, row.version, 'each change is in the audit log');
      t.same(
        [null, ...story.map(entry => entry?.to)].slice(0, -1),
        story.map(entry => entry?.from),
        'without a gap',
      );
      t.same(
        story.map(entry => entry?.occurredAt).toSorted(),
        story.map(entry => entry?.occurredAt),
      );
      t.equal(
        row.activatedAt !== null,
        story.some(entry => entry?.to === 'active'),
      );
    }
  },
);
