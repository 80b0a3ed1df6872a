import { and, sql } from '../../../drizzle/orm.ts';
import { subscriptions } from '../../../drizzle/tables/subscriptions.ts';
import { need } from '../../access/need.ts';
import type { Context } from '../../core/context.ts';
import { newRecord } from '../../core/ids.ts';
import { arrayText } from '../../database/statements/arrayText.ts';
import { prepareInsert } from '../../database/statements/prepareInsert.ts';
import { statement } from '../../database/statements/statement.ts';
import { recordWrites } from '../audit.ts';
import { applyEvents, type Outcome, type State, type StatusEvent, timeOfEvent } from './applyEvents.ts';

const { customer, provider, status, statusAt, updatedAt } = subscriptions;

/**
 * Until the end of the transaction, no other worker changes the subscriptions of these customers, whether they exist or not.
 * All lock in one order, so that two workers with the same customers do not deadlock.
 */
const lock = statement({ key: sql`key` }, builder =>
  builder.select({ key: sql`pg_advisory_xact_lock(key)::text` }).from(
    sql`(select hashtextextended(name, 0) as key
        from json_array_elements_text(${sql.placeholder('names')}::text::json) as names (name) order by key) as keys`,
  ),
);

// A distributed database finds the nodes of subscriptions by their customers.
const given = sql`${customer} = any(${sql.placeholder('customers')}::text[])`;

const findKnown = statement({ customer, provider, status, statusAt, updatedAt }, (builder, columns) =>
  builder.select(columns).from(subscriptions).where(given),
);

const insertNew = prepareInsert(subscriptions, { customer }, (insert, columns) =>
  insert.onConflictDoNothing({ target: [customer, provider] }).returning(columns),
);

const updateKnown = statement({ customer }, (builder, columns) =>
  builder
    .update(subscriptions)
    .set({
      status: sql`new.status`,
      statusAt: sql`new."statusAt"`,
      activatedAt: sql`coalesce(${subscriptions.activatedAt}, new."activatedAt")`,
      version: sql`${subscriptions.version} + new.version`,
      updatedAt: sql`new."updatedAt"`,
    })
    .from(
      sql`json_to_recordset(${sql.placeholder('rows')}::text::json) as new (customer text, provider text, status text,
        "statusAt" timestamptz, "activatedAt" timestamptz, "updatedAt" timestamptz, version integer,
        "knownStatus" text, "knownAt" timestamptz)`,
    )
    .where(
      and(
        sql`${customer} = new.customer and ${provider} = new.provider`,
        // What was decided is right only for this state.
        sql`${status} = new."knownStatus" and coalesce(${statusAt}, ${updatedAt}) = new."knownAt"`,
        given,
      ),
    )
    .returning(columns),
);

/** A subscription before the events. */
interface Known extends State {
  updatedAt: string;
}

/** The events of one customer of a provider, and what they make of the subscription. */
interface Life extends Outcome {
  customer: string;
  provider: string;
  before: Known | undefined;
}

const nameOf = ({ provider, customer }: { provider: string; customer: string | null }) =>
  `${provider}:${customer}`;

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
  const groups = Map.groupBy(named, ({ event }) => nameOf(event));
  await lock(context.db, { names: JSON.stringify([...groups.keys()]) });
  const known = await findStates(context, named);
  const lives = [...groups].map(([name, events]) => lifeOf(events, known.get(name)));
  await write(context, lives);
  await recordWrites(context, 'subscription.change', lives.flatMap(entriesOf));
  return new Map(lives.flatMap(({ reasons }) => [...reasons]));
}

async function findStates({ db }: Context, events: StatusEvent[]): Promise<Map<string, Known>> {
  const rows = await findKnown(db, { customers: customersOf(events.map(({ event }) => event)) });
  return new Map(rows.map(row => [nameOf(row), { ...row, statusAt: row.statusAt ?? row.updatedAt }]));
}

const customersOf = (all: { customer: string | null }[]) =>
  arrayText([...new Set(all.map(({ customer }) => customer ?? ''))]);

function lifeOf(events: StatusEvent[], before: Known | undefined): Life {
  const [{ event }] = events as [StatusEvent];
  return { customer: event.customer ?? '', provider: event.provider, before, ...applyEvents(events, before) };
}

const isChanged = ({ before, changes, statusAt }: Life) =>
  before !== undefined && (changes.length > 0 || statusAt !== before.statusAt);

/** Writes all changes or throws: a worker of another release does not know the lock, and may have been faster. */
async function write(context: Context, lives: Life[]): Promise<void> {
  const fresh = lives.filter(({ before }) => before === undefined).map(life => rowOf(context, life));
  const changed = lives.filter(isChanged).map(life => rowOf(context, life));
  const written = await insertNew(context.db, fresh);
  if (changed.length > 0) {
    const values = { rows: JSON.stringify(changed), customers: customersOf(changed) };
    written.push(...(await updateKnown(context.db, values)));
  }
  if (written.length < fresh.length + changed.length)
    throw new Error('Another worker changed the same subscriptions at this moment.');
}

/** As it is inserted, or applied to the row that exists: then `version` is added. */
function rowOf(context: Context, { customer, provider, before, status, statusAt, changes }: Life) {
  const record = newRecord(context);
  const activatedAt = changes.some(({ to }) => to === 'active') ? record.createdAt : null;
  const made = { ...record, customer, provider, status, statusAt, activatedAt, version: changes.length };
  if (!before) return made;
  // A status that only has a new time is no change.
  const updatedAt = changes.length > 0 ? laterThan(before.updatedAt, record.updatedAt) : before.updatedAt;
  return { ...made, updatedAt, knownStatus: before.status, knownAt: before.statusAt };
}

/** A change is later than the one before it, also when the clock steps back. */
const laterThan = (before: string, now: string) =>
  now > before ? now : new Date(Date.parse(before) + 1).toISOString();

const entriesOf = ({ changes }: Life) =>
  changes.map(({ event, from, to }) => ({
    recordId: nameOf(event),
    details: { event: event.id, eventId: event.eventId, occurredAt: timeOfEvent(event), from, to },
  }));
