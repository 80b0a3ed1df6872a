import { call } from './api.js';
import {
  aged,
  ask,
  badge,
  button,
  copyable,
  copyButton,
  count,
  facts,
  html,
  link,
  notify,
  part,
  time,
} from './dom.js';
import { problem } from './editor.js';

/** What can be done with all events that match the filters: from which states, and what it means. */
const actions = {
  Replay: {
    from: ['failed', 'dead', 'ignored', 'dismissed'],
    done: 'replayed',
    means:
      'Each gets all its attempts again; one that has had its effect has it no second time. Repair the cause first, or they fail again.',
  },
  Dismiss: {
    from: ['failed', 'dead'],
    done: 'dismissed',
    means: 'They are put away, and not tried again. They can still be replayed.',
  },
};

/** The events as they come. */
export const events = {
  columns: {
    Event: event =>
      html`<span class="t-two">${link(event.type ?? '(no type)', 'webhook-events', event.id)}<small>${why(event)}</small></span>`,
    Status: ({ status }) => badge(status),
    Customer: event => customerLink(event),
    Provider: ({ provider }) => provider,
    Attempts: ({ attempts }) => attempts,
    Received: ({ createdAt }) => aged(createdAt),
  },
  buttons: (query, refresh) =>
    Object.keys(actions).map(name => {
      const isUnfit = ['event', 'status[in]', 'createdSince', 'createdBefore'].some(
        filter => filter in query,
      );
      const isPossible = !isUnfit && (!query.status || actions[name].from.includes(query.status));
      return isPossible && button(`${name} all that match…`, () => actOnAll(name, query, refresh));
    }),
  isPossible: ({ path }, { status }) =>
    actions[path.endsWith('/replay') ? 'Replay' : 'Dismiss'].from.includes(status),
  titleOf: ({ type }) => type ?? 'Event',
  describe: event => [
    problem(/^(dead|failed)$/.test(event.status) && why(event)) || html`<p class="soft">${why(event)}</p>`,
    facts({
      provider: `${event.provider}, ${count(event.deliveries, 'delivery', 'deliveries')}`,
      'its id': copyable(event.eventId, "the provider's id"),
      customer: customerLink(event),
      happened: event.occurredAt && time(event.occurredAt),
      received: time(event.createdAt),
      processed: event.processedAt && time(event.processedAt),
      attempts: [event.attempts, event.replays > 0 && ` after ${count(event.replays, 'replay')}`],
      trace: copyable(event.traceId, 'the trace'),
    }),
    event.failures.length > 0 &&
      part('Failures', html`<ol class="history">${event.failures.toReversed().map(failure)}</ol>`),
    part(
      ['Body', copyButton(event.body, 'the body')],
      html`<pre tabindex="0" aria-label="Body">${pretty(event.body)}</pre>`,
    ),
  ],
};

const failure = ({ round, attempt, at, error }) => html`<li class="warn"><b>Attempt ${String(attempt)}</b>
  <small>${round > 0 && `after replay ${round}, `}${aged(at)}</small><p class="soft">${error}</p></li>`;

const customerLink = ({ provider, customer }) =>
  customer && link(customer, 'subscriptions', `${provider}:${customer}`);

/** Why an event had no effect, or why it failed. The error of an earlier round of attempts is no reason. */
function why({ status, reason, lastError, attempts }) {
  if (status === 'received') return 'Waits for a worker';
  return reason ?? (status === 'processed' || attempts === 0 ? '' : (lastError ?? ''));
}

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

/** Counts the events that match, and asks, before it does anything. */
async function actOnAll(name, query, refresh) {
  const { done, means } = actions[name];
  const send = body => call('POST', `/api/webhook-events/${name.toLowerCase()}`, { body });
  const { remaining } = await send({ ...query, dryRun: true });
  const { status = 'failed and dead', ...others } = query;
  const filters = Object.entries(others).map(entry => entry.join(' '));
  const matching = [`${status} events`, ...filters].join(' with ');
  if (remaining === 0) return notify(`There are no ${matching}.`);
  const title = `${name} ${count(remaining, 'event')}`;
  ask(`${title}?`, html`<p class="soft">The ${matching}. ${means}</p>`, title, async () => {
    const result = await send(query);
    await refresh();
    const left = result.remaining > 0 && ` ${result.remaining.toLocaleString('en')} remain: repeat it.`;
    notify(`${count(result[done], 'event')} ${done}.${left || ''}`);
  });
}
