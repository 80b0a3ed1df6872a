import { sql } from '../../../drizzle/orm.ts';
import { subscriptions } from '../../../drizzle/tables/subscriptions.ts';
import { need } from '../../access/need.ts';
import type { Context } from '../../core/context.ts';
import { newRecord } from '../../core/ids.ts';
import { rowsFromJson } from '../../database/statements/jsonRows.ts';
import { statement } from '../../database/statements/statement.ts';
import { recordWrites } from '../audit.ts';
import { applyEvents, type Outcome, type State, type StatusEvent, timeOfEvent } from './applyEvents.ts';

const { customer, provider, status, statusAt, updatedAt } = subscriptions;
const newRows = sql`${rowsFromJson(subscriptions)} order by customer, provider`;
const sameCustomer = sql`${customer} = new.customer and ${provider} = new.provider`;
const namedCustomers = sql`json_to_recordset(${sql.placeholder('customers')}::text::json) as new (customer text, provider text)`;

// Locked until the end of the transaction. All in one order, so that two workers with the same customers do not deadlock.
const lock = (options: { skipLocked?: true }) =>
  statement({ customer, provider, status, statusAt, updatedAt }, (builder, columns) =>
    builder
      .select(columns)
      .from(subscriptions)
      .innerJoin(namedCustomers, sameCustomer)
      .orderBy(customer, provider)
      .for('no key update', { of: subscriptions, ...options }),
  );
const lockKnown = lock({});
const lockWithoutWaiting = lock({ skipLocked: true });

const insertNew = statement({ customer, provider }, (builder, columns) =>
  builder
    .insert(subscriptions)
    .select(newRows)
    .onConflictDoNothing({ target: [customer, provider] })
    .returning(columns),
);

const updateKnown = statement({}, builder =>
  builder
    .update(subscriptions)
    .set({
      status: sql`new.status`,
      statusAt: sql`new."statusAt"`,
      activatedAt: sql`coalesce(${subscriptions.activatedAt}, new."activatedAt")`,
      version: sql`${subscriptions.version} + new.version`,
      // Later than the change before it, also when the clock steps back. A status that only has a new time is no change.
      updatedAt: sql`case new.version when 0 then ${updatedAt}
        else greatest(new."updatedAt", ${updatedAt} + interval '1 millisecond') end`,
    })
    .from(sql`(${newRows}) as new`)
    .where(sameCustomer),
);

/** The events of one customer of a provider, and what they make of the subscription. */
interface Life extends Outcome {
  customer: string | null;
  provider: string;
  before: State | undefined;
}

const nameOf = ({ provider, customer }: Pick<Life, 'provider' | 'customer'>) => `${provider}:${customer}`;

function lifeOf(events: StatusEvent[], before: State | undefined): Life {
  const [{ event }] = events as [StatusEvent];
  return { customer: event.customer, provider: event.provider, before, ...applyEvents(events, before) };
}

/**
 * Changes, or creates, the subscription of each event's customer, in the transaction of the events. Returns why events had
 * no effect.
 */
export async function changeSubscriptions(
  context: Context,
  events: StatusEvent[],
): Promise<Outcome['reasons']> {
  need(context, 'write');
  const named = events.filter(({ event }) => event.customer !== null);
  const groups = [...Map.groupBy(named, ({ event }) => nameOf(event))];
  const known = await statesOf(lockKnown, context, groups);
  const unknown = groups.filter(([name]) => !known.has(name));
  // Waiting for a lock after that of others would be out of order, and could be a deadlock.
  const lockNow = groups.length === 1 ? lockKnown : lockWithoutWaiting;
  for (const [name, state] of await insertUnknown(context, unknown, lockNow)) known.set(name, state);
  const lives = groups.map(([name, events]) => lifeOf(events, known.get(name)));
  const later = lives.filter(
    ({ before, changes, statusAt }) => before && (changes.length > 0 || statusAt !== before.statusAt),
  );
  if (later.length > 0) await updateKnown(context.db, { rows: rowsOf(context, later) });
  await recordWrites(context, 'subscription.change', lives.flatMap(entriesOf));
  return new Map(lives.flatMap(({ reasons }) => [...reasons]));
}

type Group = [name: string, events: StatusEvent[]];

/** Creates subscriptions, and returns the states of those that another worker has created meanwhile. */
async function insertUnknown(
  context: Context,
  groups: Group[],
  lock: typeof lockKnown,
): Promise<Map<string, State>> {
  if (groups.length === 0) return new Map();
  const lives = groups.map(([, events]) => lifeOf(events, undefined));
  const made = new Set((await insertNew(context.db, { rows: rowsOf(context, lives) })).map(nameOf));
  const others = groups.filter(([name]) => !made.has(name));
  const states = others.length > 0 ? await statesOf(lock, context, others) : new Map();
  if (states.size < others.length)
    throw new Error('Other workers create and change the same subscriptions at this moment.');
  return states;
}

async function statesOf(
  lock: typeof lockKnown,
  { db }: Context,
  groups: Group[],
): Promise<Map<string, State>> {
  const customers = groups.map(([, [first]]) => ({
    customer: first?.event.customer,
    provider: first?.event.provider,
  }));
  const rows = await lock(db, { customers: JSON.stringify(customers) });
  return new Map(
    rows.map(row => [nameOf(row), { status: row.status, statusAt: row.statusAt ?? row.updatedAt }]),
  );
}

/** As they are inserted, or applied to the rows that exist: then `version` is added. */
function rowsOf(context: Context, lives: Life[]): string {
  const rows = lives.map(({ customer, provider, status, statusAt, changes }) => {
    const record = newRecord(context);
    const activatedAt = changes.some(({ to }) => to === 'active') ? record.createdAt : null;
    return { ...record, customer, provider, status, statusAt, activatedAt, version: changes.length };
  });
  return JSON.stringify(rows);
}

const entriesOf = ({ changes }: Life) =>
  changes.map(({ event, from, to }) => ({
    recordId: nameOf(event),
    details: { event: event.id, eventId: event.eventId, occurredAt: timeOfEvent(event), from, to },
  }));
