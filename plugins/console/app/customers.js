import { call } from './api.js';
import { badge, copyable, facts, h, link, linkTo, table, time } from './dom.js';

const statuses = 'active trialing past_due unpaid paused incomplete incomplete_expired canceled'.split(' ');

/** The customers with their state, each with their subscriptions and the history of their states. */
export const customers = {
  title: 'Customers',
  path: '/api/subscriptions',
  order: { sort: '-createdAt' },
  idOf: ({ provider, customer }) => `${provider}:${customer}`,
  filters: { open: ['Customer', 'cus_…'], status: ['Status', ['', ...statuses]], provider: ['Provider'] },
  columns: {
    Customer: ({ provider, customer }) => linkTo('customers', `${provider}:${customer}`, customer),
    Status: ({ status }) => badge(status),
    Provider: ({ provider }) => provider,
    Subscriptions: ({ items }) => String(items.length),
    'First active': ({ activatedAt }) => time(activatedAt),
    Changed: ({ updatedAt }) => time(updatedAt),
  },
  record: {
    read,
    titleOf: ({ customer }) => customer,
    describe: ({ customer, provider, status, activatedAt, updatedAt, items, record, changes }) => [
      h('p', {}, badge(status), ' at ', provider),
      facts({
        Customer: copyable(customer, 'customer'),
        'First active': time(activatedAt),
        Changed: time(updatedAt),
      }),
      table('Subscriptions', itemColumns(items.length), items),
      table('States, the latest first', changeColumns, changes.data),
      h('p', {}, link('events', { customer }, 'Events about this customer')),
      changes.meta.next !== null && h('p', {}, link('audit', { record }, 'Older changes')),
    ],
  },
};

/** Reads a customer by `<provider>:<customer>`, or by `<customer>` alone if they have one provider. */
async function read(id, signal) {
  const colon = id.indexOf(':');
  const query = colon < 0 ? {} : { provider: id.slice(0, colon) };
  const path = `/api/subscriptions/${encodeURIComponent(id.slice(colon + 1))}`;
  const subscription = await call('GET', path, { query, signal });
  const record = customers.idOf(subscription);
  const changes = await call('GET', '/api/audit', { query: { record, limit: 100 }, signal });
  return { ...subscription, record, changes };
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
  'Its state': ({ details }) => (details ? describeState(details.subscription) : '–'),
  From: ({ details }) => (details?.from ? badge(details.from) : 'none'),
  To: ({ details }) => (details ? badge(details.to) : '–'),
  Event: ({ details }) => (details ? linkTo('events', details.event, details.eventId ?? details.event) : '–'),
  Recorded: ({ createdAt }) => time(createdAt),
};

function describeState({ status, currentPeriodEnd, cancelAtPeriodEnd }) {
  const terms = currentPeriodEnd ? [cancelAtPeriodEnd ? ' ends ' : ' until ', time(currentPeriodEnd)] : [];
  return h('span', {}, badge(status), ...terms);
}
