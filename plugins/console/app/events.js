import { call } from './api.js';
import { confirm } from './dialogs.js';
import { attempt, badge, field, h, input, notify, select, time, valuesOf } from './dom.js';
import { linkTo, replayable, whyOf } from './event.js';
import { followLog } from './log.js';
import { goTo, hrefOf } from './place.js';

const statuses = ['received', 'processing', 'processed', 'ignored', 'failed', 'dead'];
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
  const onclick = attempt(() => replayAll(query));
  const replay = h('button', { type: 'button', onclick }, 'Replay all that match …');
  replay.disabled = query.event !== undefined || (query.status && !replayable.includes(query.status));
  replay.title = replay.disabled
    ? 'Possible for failed, dead and ignored events, by their other members.'
    : '';
  view.append(
    h('h2', {}, 'Events'),
    filterForm(query, replay),
    followLog({ path: '/api/webhook-events', query, columns, caption: 'Events, the newest first', signal }),
  );
}

const filterForm = (query, replay) =>
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
    replay,
  );

const countOf = number => (number === 1 ? '1 event' : `${number.toLocaleString()} events`);

/** Says how many there are before it replays them. */
async function replayAll(query) {
  const path = '/api/webhook-events/replay';
  const { remaining } = await call('POST', path, { body: { ...query, dryRun: true } });
  if (remaining === 0) return notify(`No ${query.status ?? 'failed or dead'} event matches these filters.`);
  const what = query.status ?? 'failed and dead';
  const others = Object.entries(query).filter(([name]) => name !== 'status');
  const restriction = others.map(([name, value]) => `${name} ${value}`).join(', ');
  const agreed = await confirm({
    title: `Replay ${countOf(remaining)}?`,
    text: `The ${what} events${restriction && ` with ${restriction}`} are processed again, with new attempts.`,
    action: 'Replay',
  });
  if (!agreed) return;
  const result = await call('POST', path, { body: query });
  const left = result.remaining > 0 ? ` ${result.remaining.toLocaleString()} remain: replay again.` : '';
  notify(`${countOf(result.replayed)} replayed.${left}`);
}
