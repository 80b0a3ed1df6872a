import { call } from './api.js';
import { badge, copyable, facts, h, link, linkTo, table, time } from './dom.js';

const statuses = 'active trialing past_due unpaid paused incomplete incomplete_expired canceled'.split(' ');

/** The customers by their state, each with their subscriptions and the history of their states. */
export const customers = {
  title: 'Customers',
  path: '/api/subscriptions',
  order: { sort: '-createdAt' },
  idOf: ({ provider, customer }) => `${provider}:${customer}`,
  filters: { open: ['Customer', 'cus_…'], status: ['Status', ['', ...statuses]], provider: ['Provider'] },
  columns: {
    Customer: ({ customer }) => linkTo('customers', customer),
    Status: ({ status }) => badge(status),
    Provider: ({ provider }) => provider,
    Subscriptions: ({ items }) => String(items.length),
    'First active': ({ activatedAt }) => time(activatedAt),
    Changed: ({ updatedAt }) => time(updatedAt),
  },
  record: {
    read: async (customer, signal) => {
      const subscriptions = await subscriptionsOf(customer, signal);
      return Promise.all(subscriptions.map(subscription => withChanges(subscription, signal)));
    },
    titleOf: ([{ customer }]) => customer,
    describe: subscriptions => {
      const [{ customer }] = subscriptions;
      const about = link('events', { customer }, 'Events about this customer');
      return [...subscriptions.map(describe), h('p', {}, copyable(customer, 'customer'), ' ', about)];
    },
  },
};

async function subscriptionsOf(customer, signal) {
  const path = `/api/subscriptions/${encodeURIComponent(customer)}`;
  const get = query => call('GET', path, { query, signal });
  try {
    return [await get({})];
  } catch (error) {
    if (error.details?.providers === undefined) throw error;
    return Promise.all(error.details.providers.map(provider => get({ provider })));
  }
}

async function withChanges(subscription, signal) {
  const query = { record: customers.idOf(subscription), limit: 100 };
  return { ...subscription, changes: await call('GET', '/api/audit', { query, signal }) };
}

function describe(subscription) {
  const { customer, provider, status, activatedAt, updatedAt, items, changes } = subscription;
  return h(
    'section',
    { 'aria-label': `${customer} at ${provider}` },
    h('h3', {}, `At ${provider} `, badge(status)),
    facts({ 'First active': time(activatedAt), Changed: time(updatedAt) }),
    table('Subscriptions', itemColumns(items.length), items),
    table('States, the latest first', changeColumns, changes.data),
    changes.meta.next !== null &&
      h('p', {}, link('audit', { record: customers.idOf(subscription) }, 'Older changes')),
  );
}

const itemColumns = count => ({
  Subscription: ({ id }) => id ?? (count > 1 ? 'not named: does not count' : 'not named'),
  Status: ({ status }) => badge(status),
  'As of': ({ statusAt }) => time(statusAt),
  'Paid until': ({ currentPeriodEnd }) => time(currentPeriodEnd),
  'Ends then': ({ cancelAtPeriodEnd }) =>
    cancelAtPeriodEnd === null ? '–' : cancelAtPeriodEnd ? 'yes' : 'no',
});

const changeColumns = {
  Happened: ({ details }) => time(details?.occurredAt),
  Subscription: ({ details }) => (details ? (details.subscription.id ?? 'not named') : '–'),
  'Its state': ({ details }) => (details ? stateOf(details.subscription) : '–'),
  From: ({ details }) => (details?.from ? badge(details.from) : 'none'),
  To: ({ details }) => (details ? badge(details.to) : '–'),
  Event: ({ details }) => (details ? linkTo('events', details.event, details.eventId ?? details.event) : '–'),
  Recorded: ({ createdAt }) => time(createdAt),
};

function stateOf({ status, currentPeriodEnd, cancelAtPeriodEnd }) {
  const terms = currentPeriodEnd ? [cancelAtPeriodEnd ? ' ends ' : ' until ', time(currentPeriodEnd)] : [];
  return h('span', {}, badge(status), ...terms);
}
