import { call } from './api.js';
import { aged, badge, copyable, facts, html, link, part, time } from './dom.js';

/** The customers with their state, each with their subscriptions; the audit log has the history of their states. */
export const customers = {
  idOf: ({ provider, customer }) => `${provider}:${customer}`,
  columns: {
    Customer: record => html`<b>${link(record.customer, 'subscriptions', customers.idOf(record))}</b>`,
    Status: ({ status }) => badge(status),
    Provider: ({ provider }) => provider,
    Subscriptions: ({ items }) => items.length,
    'First active': ({ activatedAt }) => aged(activatedAt) ?? html`<i>never</i>`,
    Changed: ({ updatedAt }) => aged(updatedAt),
  },
  /** Reads a customer by `<provider>:<customer>`, or by `<customer>` alone if they have one provider. */
  read(id, signal) {
    const colon = id.indexOf(':');
    const query = colon < 0 ? {} : { provider: id.slice(0, colon) };
    return call('GET', `/api/subscriptions/${encodeURIComponent(id.slice(colon + 1))}`, { query, signal });
  },
  /** Events may have come that changed no subscription. */
  missing: id =>
    link('What arrived about this customer', 'webhook-events', undefined, {
      customer: id.replace(/^[^:]*:/, ''),
    }),
  titleOf: ({ customer }) => customer,
  describe: ({ customer, provider, activatedAt, items }) => [
    facts({
      customer: copyable(customer, 'the customer'),
      provider,
      'first active': activatedAt ? time(activatedAt) : 'never',
      events: link('What arrived about this customer', 'webhook-events', undefined, { customer, provider }),
    }),
    items.map(({ id, status, statusAt, currentPeriodEnd, cancelAtPeriodEnd }) =>
      part(
        [id ?? 'A subscription without an id', badge(status)],
        facts({
          'as of': time(statusAt),
          'paid until': currentPeriodEnd && time(currentPeriodEnd),
          'ends then': cancelAtPeriodEnd === null ? undefined : cancelAtPeriodEnd ? 'yes' : 'no',
        }),
      ),
    ),
  ],
};
