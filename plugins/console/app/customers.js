import { call } from './api.js';
import { badge, facts, field, h, input, row, table, time, valuesOf } from './dom.js';
import { linkTo } from './event.js';
import { goTo, hrefOf } from './place.js';

/** A customer's subscriptions, each with the history of its states. */
export async function showCustomers(view, { customer }, signal) {
  const onsubmit = event => {
    event.preventDefault();
    goTo('customers', valuesOf(event.target));
  };
  view.append(
    h('h2', {}, 'Customers'),
    h(
      'form',
      { class: 'filters', onsubmit },
      field('Customer', input('customer', customer, { required: true, placeholder: 'cus_…' })),
      h('button', { class: 'primary', type: 'submit' }, 'Show'),
    ),
  );
  if (customer === undefined) return;
  const subscriptions = await subscriptionsOf(customer, signal);
  if (subscriptions.length === 0) view.append(h('p', {}, `${customer} has no subscription.`));
  for (const subscription of subscriptions) view.append(await describe(subscription, signal));
  view.append(h('p', {}, h('a', { href: hrefOf('events', { customer }) }, `Events about ${customer}`)));
}

async function subscriptionsOf(customer, signal) {
  const path = `/api/subscriptions/${encodeURIComponent(customer)}`;
  const get = query => call('GET', path, { query, signal });
  try {
    return [await get({})];
  } catch (error) {
    if (error.status === 404) return [];
    if (error.details?.providers === undefined) throw error;
    return Promise.all(error.details.providers.map(provider => get({ provider })));
  }
}

async function describe({ customer, provider, status, activatedAt, updatedAt, items }, signal) {
  const query = { record: `${provider}:${customer}`, limit: 100 };
  const { data, meta } = await call('GET', '/api/audit', { query, signal });
  const headers = ['Happened', 'Subscription', 'Its state', 'From', 'To', 'Event', 'Recorded'];
  const { element, body } = table('States, the latest first', headers);
  body.append(...data.map(entry => row(headers, cellsOf(entry))));
  return h(
    'section',
    { 'aria-label': `${customer} at ${provider}` },
    h('h3', {}, `${customer} at ${provider} `, badge(status)),
    facts({ 'First active': time(activatedAt), Changed: time(updatedAt) }),
    itemsOf(items),
    element,
    meta.next !== null &&
      h('p', {}, h('a', { href: hrefOf('audit', { record: query.record }) }, 'Older changes')),
  );
}

function itemsOf(items) {
  const headers = ['Subscription', 'Status', 'As of', 'Paid until', 'Ends then'];
  const unnamed = items.length > 1 ? 'not named: does not count' : 'not named';
  const { element, body } = table('Subscriptions', headers);
  const ends = { true: 'yes', false: 'no' };
  for (const { id, status, statusAt, currentPeriodEnd, cancelAtPeriodEnd } of items) {
    const cells = [id ?? unnamed, badge(status), time(statusAt), time(currentPeriodEnd)];
    body.append(row(headers, [...cells, ends[cancelAtPeriodEnd] ?? '–']));
  }
  return element;
}

function stateOf({ status, currentPeriodEnd, cancelAtPeriodEnd }) {
  const terms = currentPeriodEnd ? [cancelAtPeriodEnd ? ' ends ' : ' until ', time(currentPeriodEnd)] : [];
  return h('span', {}, badge(status), ...terms);
}

const cellsOf = ({ createdAt, details }) => [
  time(details?.occurredAt),
  details ? (details.subscription.id ?? 'not named') : '–',
  details ? stateOf(details.subscription) : '–',
  details?.from ? badge(details.from) : 'none',
  details ? badge(details.to) : '–',
  details ? linkTo(details.event, details.eventId ?? details.event) : '–',
  time(createdAt),
];
