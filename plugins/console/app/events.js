import { call } from './api.js';
import { confirm } from './dialogs.js';
import { attempt, badge, field, h, input, notify, select, time, valuesOf } from './dom.js';
import { dismissible, linkTo, replayable, whyOf } from './event.js';
import { followLog } from './log.js';
import { goTo, hrefOf } from './place.js';

const statuses = ['received', 'processed', 'ignored', 'failed', 'dead', 'dismissed'];
const choices = { '': 'any', ...Object.fromEntries(statuses.map(status => [status, status])) };

const columns = {
  Received: ({ createdAt }) => time(createdAt),
  Event: ({ id, type }) => linkTo(id, type ?? '(no type)'),
  Status: ({ status }) => badge(status),
  Customer: ({ customer }) =>
    customer ? h('a', { href: hrefOf('customers', { customer }) }, customer) : '–',
  Provider: ({ provider }) => provider,
  Attempts: ({ attempts }) => String(attempts),
  Why: whyOf,
};

/** The events as they come, with filters. */
export function showEvents(view, query, signal) {
  const buttons = Object.entries(actions).map(([action, { title, from }]) => {
    const onclick = attempt(() => actOnAll(action, query));
    const button = h('button', { type: 'button', onclick }, `${title} all that match …`);
    button.disabled = query.event !== undefined || (query.status && !from.includes(query.status));
    button.title = button.disabled ? `Possible for ${from.join(', ')} events, by their other members.` : '';
    return button;
  });
  view.append(
    h('h2', {}, 'Events'),
    filterForm(query, buttons),
    followLog({ path: '/api/webhook-events', query, columns, caption: 'Events, the newest first', signal }),
  );
}

/** What can be done with all events that match. */
const actions = {
  replay: {
    title: 'Replay',
    from: replayable,
    done: 'replayed',
    means: 'processed again, with new attempts',
  },
  dismiss: { title: 'Dismiss', from: dismissible, done: 'dismissed', means: 'put away, and not tried again' },
};

const filterForm = (query, buttons) =>
  h(
    'form',
    {
      class: 'filters',
      onsubmit: event => {
        event.preventDefault();
        goTo('events', valuesOf(event.target));
      },
    },
    field('Status', select('status', choices, query.status)),
    field('Type', input('type', query.type)),
    field('Customer', input('customer', query.customer)),
    field('Provider', input('provider', query.provider)),
    field("Provider's id", input('event', query.event, { placeholder: 'evt_…' })),
    h('button', { class: 'primary', type: 'submit' }, 'Show'),
    ...buttons,
  );

const countOf = number => (number === 1 ? '1 event' : `${number.toLocaleString()} events`);

/** Says how many there are before it does anything. */
async function actOnAll(action, query) {
  const { title, done, means } = actions[action];
  const path = `/api/webhook-events/${action}`;
  const { remaining } = await call('POST', path, { body: { ...query, dryRun: true } });
  if (remaining === 0) return notify(`No ${query.status ?? 'failed or dead'} event matches these filters.`);
  const what = query.status ?? 'failed and dead';
  const others = Object.entries(query).filter(([name]) => name !== 'status');
  const restriction = others.map(([name, value]) => `${name} ${value}`).join(', ');
  const agreed = await confirm({
    title: `${title} ${countOf(remaining)}?`,
    text: `The ${what} events${restriction && ` with ${restriction}`} are ${means}.`,
    action: title,
  });
  if (!agreed) return;
  const result = await call('POST', path, { body: query });
  const left = result.remaining > 0 ? ` ${result.remaining.toLocaleString()} remain: repeat it.` : '';
  notify(`${countOf(result[done])} ${done}.${left}`);
}
