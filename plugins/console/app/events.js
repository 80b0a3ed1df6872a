import { call } from './api.js';
import { attempt, badge, copyable, copyButton, facts, h, linkTo, notify, table, time } from './dom.js';

const statuses = ['', 'received', 'processed', 'ignored', 'failed', 'dead', 'dismissed'];
/** What can be done with an event, and with all events that match the filters. */
const actions = {
  Replay: {
    from: ['failed', 'dead', 'ignored', 'dismissed'],
    done: 'replayed',
    means: 'processed again, with new attempts',
  },
  Dismiss: { from: ['failed', 'dead'], done: 'dismissed', means: 'put away, and not tried again' },
};

/** The events as they come. */
export const events = {
  title: 'Events',
  path: '/api/webhook-events',
  idOf: ({ id }) => id,
  filters: {
    status: ['Status', statuses],
    type: ['Type, exactly', 'invoice.paid'],
    customer: ['Customer'],
    provider: ['Provider'],
    event: ["Provider's id", 'evt_…'],
    createdSince: ['Received since, UTC', Date],
    createdBefore: ['Before, UTC', Date],
  },
  columns: {
    Received: ({ createdAt }) => time(createdAt),
    Event: ({ id, type }) => linkTo('events', id, type ?? '(no type)'),
    Status: ({ status }) => badge(status),
    Customer: event => customerLink(event) ?? '–',
    Provider: ({ provider }) => provider,
    Attempts: ({ attempts }) => String(attempts),
    Why: why,
  },
  extra: query => h('p', { class: 'filters' }, buttonForAll('Replay', query), buttonForAll('Dismiss', query)),
  record: {
    read: (id, signal) => call('GET', `/api/webhook-events/${encodeURIComponent(id)}`, { signal }),
    titleOf: ({ type }) => type ?? 'Event',
    describe,
    actions: Object.fromEntries(
      Object.entries(actions).map(([name, { from, done }]) => {
        const act = async ({ id }) => {
          await call('POST', `/api/webhook-events/${id}/${name.toLowerCase()}`);
          notify(`The event is ${done}.`);
        };
        return [name, { act, isPossible: ({ status }) => from.includes(status) }];
      }),
    ),
  },
};

const customerLink = ({ provider, customer }) =>
  customer && linkTo('customers', `${provider}:${customer}`, customer);

/** Why an event had no effect, or why it failed. The error of an earlier round of attempts is no reason. */
function why({ status, reason, lastError, attempts }) {
  return reason ?? (status === 'processed' || attempts === 0 ? '' : (lastError ?? ''));
}

function describe(event) {
  const { customer, failures, body } = event;
  return [
    h('p', {}, badge(event.status), ' ', why(event)),
    facts({
      Customer: customer && [customerLink(event), ' ', copyButton(customer, 'customer')],
      Provider: event.provider,
      "Provider's id": copyable(event.eventId, "provider's id"),
      'Id here': copyable(event.id, 'id'),
      Happened: event.occurredAt && time(event.occurredAt),
      Received: time(event.createdAt),
      Processed: event.processedAt && time(event.processedAt),
      Deliveries: String(event.deliveries),
      Attempts: String(event.attempts),
      Replays: String(event.replays),
      Trace: copyable(event.traceId, 'trace'),
    }),
    failures.length > 0 && table('Failed attempts', failureColumns, failures),
    h('h3', {}, 'Body ', copyButton(body, 'body')),
    h('pre', { tabIndex: 0, 'aria-label': 'Body' }, pretty(body)),
  ];
}

const failureColumns = {
  Round: ({ round }) => String(round),
  Attempt: ({ attempt }) => String(attempt),
  Time: ({ at }) => time(at),
  Error: ({ error }) => error,
};

/** Adds line breaks to JSON, unless that changes a value: numbers beyond 2^53 would be rounded. */
function pretty(body) {
  try {
    const value = JSON.parse(body);
    const compact = text => text.replace(/\s/g, '');
    return compact(JSON.stringify(value)) === compact(body) ? JSON.stringify(value, null, 2) : body;
  } catch {
    return body;
  }
}

function buttonForAll(name, query) {
  const { from } = actions[name];
  const onclick = attempt(() => actOnAll(name, query));
  const button = h('button', { type: 'button', onclick }, `${name} all that match …`);
  const isUnfit = ['event', 'createdSince', 'createdBefore'].some(filter => filter in query);
  button.disabled = isUnfit || (query.status && !from.includes(query.status));
  button.title = button.disabled ? `For ${from.join(', ')} events, by type, customer and provider.` : '';
  return button;
}

const countEvents = number => (number === 1 ? '1 event' : `${number.toLocaleString()} events`);

/** Says how many events there are, and asks, before it does anything. */
async function actOnAll(name, query) {
  const { done, means } = actions[name];
  const send = body => call('POST', `/api/webhook-events/${name.toLowerCase()}`, { body });
  const { remaining } = await send({ ...query, dryRun: true });
  if (remaining === 0) return notify(`No ${query.status ?? 'failed or dead'} event matches these filters.`);
  const { status = 'failed and dead', ...others } = query;
  const filters = Object.entries(others).map(entry => entry.join(' '));
  const matching = [`${status} events`, ...filters].join(' with ');
  if (!confirm(`${name} ${countEvents(remaining)}?\n\nThe ${matching} are ${means}.`)) return;
  const result = await send(query);
  const left = result.remaining > 0 ? ` ${result.remaining.toLocaleString()} remain: repeat it.` : '';
  notify(`${countEvents(result[done])} ${done}.${left}`);
}
