import type { Test } from 'tap';
import { stripe } from '#src/domain/handlers/stripe.ts';
import { makeKey } from '#test/helper/access.ts';
import { lifeOf } from '#test/helper/events/stripeLife.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';
import { openBrowser, openPage } from './browser.ts';

/** Starts a service with a history to look at: a customer's events, and events that fail until `repair` is called. */
export async function startOperated(t: Test, AUTH_MODE: 'open' | 'required') {
  let broken = true;
  const handle = async () => {
    if (broken) throw new Error('the ledger does not answer');
    return {};
  };
  const service = await buildReceiver(t, {
    settings: { AUTH_MODE, WEBHOOK_RETRIES: 0 },
    handlers: new Map([['stripe', new Map([...stripe, ['charge.dispute.created', { effect: '', handle }]])]]),
  });
  for (const event of lifeOf('cus_ada')) {
    await service.deliver(event);
    // Waits for each event, because some have no effect when they overtake each other.
    if (AUTH_MODE === 'open') await service.eventually(`event=${event.id}`, 'processed');
  }
  const dispute = (number: number) =>
    service.deliver({ ...paymentEvent({ id: `evt_dispute_${number}` }), type: 'charge.dispute.created' });
  for (let number = 1; number <= 3; number++) await dispute(number);
  const { key } = await makeKey(service.database, ['admin'], { name: 'Ada on call' });
  const origin = await service.app.listen({ port: 0, host: '127.0.0.1' });
  const repair = () => {
    broken = false;
  };
  const browser = await openBrowser(t);
  const visit = (path: string, options = {}) =>
    openPage(browser, origin, { permissions: ['clipboard-read', 'clipboard-write'], ...options }).then(
      async opened => {
        await opened.page.goto(`${origin}/console${path}`);
        return opened;
      },
    );
  return { ...service, key, origin, repair, visit };
}
