import { audit } from './audit.js';
import { customers } from './customers.js';
import { events } from './events.js';
import { identitiesOf } from './identities.js';
import { keys } from './keys.js';

const known = { audit, keys, subscriptions: customers, 'webhook-events': events };

/** What a list shows and does besides what every list does. */
export function extras(list) {
  if (list.actions.some(({ path }) => path.endsWith('{id}/identities'))) return { around: [identitiesOf] };
  return known[list.path] ?? {};
}
