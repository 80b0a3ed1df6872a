// runs: long
import t from 'tap';
import { paymentEvent } from '#test/helper/events/webhooks.ts';
import { rowsOf, rowWith } from '#test/rig/pages/browser.ts';
import { addFilter, copied, heading, idsOf } from '#test/rig/pages/console.ts';
import { startOperated } from '#test/rig/pages/operated.ts';

const { call, deliver, eventually, origin, repair, visit } = await startOperated(t, 'open');
const { id: dead, createdAt } = await eventually('event=evt_dispute_2', 'dead');

t.test('the overview says which events are dead, leads to them, and counts what happens', async t => {
  await eventually('event=evt_dispute_3', 'dead');
  const { page, errors } = await visit('');
  await heading(page, 'Overview');
  const needs = page.getByRole('list', { name: 'What needs you' });
  await needs.getByText('the oldest came').waitFor();
  const plotted = (title: string) => page.getByRole('img', { name: new RegExp(`^${title}: `) });
  const numberIn = async (title: string, series: string) => {
    const label = await plotted(title).getAttribute('aria-label');
    return Number(label?.match(new RegExp(`\\b${series} ([\\d,]+)`))?.[1]?.replace(',', ''));
  };
  const numbers = async () => ({
    succeeded: await numberIn('Requests', '2xx, 3xx'),
    refused: await numberIn('Refused', 'other 4xx'),
    processed: await numberIn('Events, by outcome', 'processed'),
  });
  t.equal(await numberIn('Events, by outcome', 'dead'), 3);
  const before = await numbers();
  t.ok(before.succeeded > 0);
  await call('GET', '/api/users/nobody', 404);
  await deliver(paymentEvent({ id: 'evt_counted' }));
  await eventually('event=evt_counted', 'processed');
  await page.getByText('Last day').click();
  await page.getByRole('radio', { name: 'Last day', checked: true }).waitFor({ state: 'attached' });
  let after = before;
  // The view of the hour stays until that of the day is there.
  for (let looks = 0; after.processed === before.processed && looks < 100; looks++) {
    await page.waitForTimeout(100);
    after = await numbers();
  }
  t.ok(after.succeeded > before.succeeded, `${after.succeeded} requests after ${before.succeeded}`);
  t.same([after.refused - before.refused, after.processed - before.processed], [1, 1]);

  await needs.getByRole('link', { name: '3 events are dead.' }).click();
  await heading(page, 'Events');
  await page.getByText('status is dead').waitFor();
  await rowsOf(page).nth(2).waitFor();
  t.equal(await rowsOf(page).filter({ hasText: 'the ledger does not answer' }).count(), 3);
  await page.getByRole('link', { name: 'Events 3 dead' }).waitFor();
  t.same(errors, []);
});

t.test('events are found by time in UTC, and ids and bodies are copied', async t => {
  const { page } = await visit('#/webhook-events', { timezoneId: 'Asia/Tokyo', locale: 'de-DE' });
  const minute = createdAt.slice(0, 16).replace('T', ' ');
  await page
    .getByTitle(`${createdAt.slice(0, 19).replace('T', ' ')} UTC`)
    .first()
    .waitFor();
  await addFilter(page, 'createdAt', form => form.getByRole('textbox').fill(minute));
  await page.waitForURL(/createdSince=20/);
  await page.getByText(`createdAt since ${minute}`).waitFor();
  await rowWith(page, 'charge.dispute.created').waitFor();
  t.equal(await page.getByRole('button', { name: /all that match/ }).count(), 0, 'it cannot be for a time');
  await addFilter(page, 'createdAt', async form => {
    await form.getByLabel('Operator').selectOption('before');
    await form.getByRole('textbox').fill(minute);
  });
  await page.waitForURL(/createdSince=20.*createdBefore=20/);
  await page.getByText('No event is like that.').waitFor();
  await page.getByRole('button', { name: 'Remove the filter createdAt' }).nth(1).click();
  await rowWith(page, 'charge.dispute.created').waitFor();

  await page.goto(`${origin}/console#/webhook-events/${dead}`);
  await page.getByRole('button', { name: "Copy the provider's id" }).click();
  await page.getByText("Copied: the provider's id.").waitFor();
  t.equal(await copied(page), 'evt_dispute_2');
  await page.getByRole('button', { name: 'Copy the body' }).click();
  await page.getByText('Copied: the body.').waitFor();
  t.equal(JSON.parse(await copied(page)).id, 'evt_dispute_2');
});

t.test('events come in while one looks; failed ones are dismissed and replayed, one or all', async t => {
  const { page, errors } = await visit('#/webhook-events');
  await rowWith(page, 'dead').waitFor();
  await deliver(paymentEvent({ id: 'evt_new', customer: 'cus_new' }));
  await rowWith(page, 'cus_new').getByText('processed').waitFor();

  await page.goto(`${origin}/console#/webhook-events?event=evt_dispute_2`);
  await rowWith(page, 'dead').getByRole('link').first().click();
  await heading(page, 'charge.dispute.created');
  await page.getByText('the ledger does not answer').first().waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByText('Done.').waitFor();
  await page.locator('h1 + .badge', { hasText: 'dismissed' }).waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).waitFor({ state: 'detached' });
  await page.locator('.history', { hasText: 'event.dismiss' }).waitFor();
  await page.keyboard.press('Escape');
  await rowWith(page, 'dismissed').waitFor();

  await page.goto(`${origin}/console#/webhook-events?status=dead`);
  await page.getByRole('button', { name: 'Dismiss all that match' }).click();
  const asked = page.getByRole('dialog', { name: 'Dismiss 2 events?' });
  await asked.getByText('The dead events.').waitFor();
  await asked.getByRole('button', { name: 'Not now' }).click();
  await asked.waitFor({ state: 'detached' });
  await eventually('event=evt_dispute_1', 'dead');
  await page.getByRole('button', { name: 'Dismiss all that match' }).click();
  await asked.getByRole('button', { name: 'Dismiss 2 events' }).click();
  await page.getByText('2 events dismissed.').waitFor();
  await page.getByText('No event is like that.').waitFor();
  t.equal((await eventually('event=evt_dispute_3', 'dismissed')).attempts, 1);

  repair();
  await page.goto(`${origin}/console#/webhook-events?event=evt_dispute_1`);
  await rowWith(page, 'dismissed').getByRole('link').first().click();
  await heading(page, 'charge.dispute.created');
  t.equal(await page.getByRole('button', { name: /all that match/ }).count(), 0, 'it is one event');
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('Done.').waitFor();
  await eventually('event=evt_dispute_1', 'processed');
  await page.keyboard.press('Escape');
  await rowWith(page, 'processed').waitFor();

  await page.goto(`${origin}/console#/webhook-events?status=dismissed`);
  await rowWith(page, 'dismissed').waitFor();
  t.equal(await page.getByRole('button', { name: 'Dismiss all that match' }).count(), 0, 'they are already');
  await page.getByRole('button', { name: 'Replay all that match' }).click();
  await page.getByRole('button', { name: 'Replay 2 events' }).click();
  await page.getByText('2 events replayed.').waitFor();
  await page.getByText('No event is like that.').waitFor();
  await eventually('event=evt_dispute_2', 'processed');
  await eventually('event=evt_dispute_3', 'processed');
  await page.getByRole('button', { name: 'Replay all that match' }).click();
  await page.getByText('There are no dismissed events.').waitFor();
  t.same(errors, []);
});

t.test('older events are reached page by page without a gap while new ones come in', async t => {
  const deliverMany = async (customer: string, number: number) => {
    for (let i = 0; i < number; i++) await deliver(paymentEvent({ id: `evt_${customer}_${i}`, customer }));
    return eventually(`event=evt_${customer}_${number - 1}`, 'processed');
  };
  await deliverMany('first', 60);
  const { page } = await visit('#/webhook-events');
  await rowWith(page, 'first').waitFor();
  const turn = async (to: 'Next' | 'Previous') => {
    const [first] = await idsOf(page);
    await page.getByRole('button', { name: to }).click();
    await page.locator(`tr[data-id="${first}"]`).waitFor({ state: 'detached' });
    await rowsOf(page).nth(24).waitFor();
  };
  const seen = await idsOf(page);
  await deliverMany('second', 30);
  // The first page has the newest; those that it showed before are not lost by that.
  await rowWith(page, 'second').waitFor();
  seen.push(...(await idsOf(page)));
  for (let pages = 1; pages < 4; pages++) {
    await turn('Next');
    seen.push(...(await idsOf(page)));
    await deliver(paymentEvent({ id: `evt_third_${pages}`, customer: 'third' }));
  }
  // Reads only how many it would replay, from a page that is not the first.
  await page.getByRole('button', { name: 'Replay all that match' }).click();
  await page.getByText('There are no failed and dead events.').waitFor();
  const { body } = await call('GET', '/api/webhook-events?customer=first&limit=100', 200);
  const missed = body.data.filter(({ id }: { id: string }) => !seen.includes(id));
  t.same(missed, []);
});

t.test('customers are listed by state, and each has a history of states and its events', async t => {
  const { page, errors } = await visit('#/subscriptions');
  await addFilter(page, 'status', async form => {
    await form.getByRole('checkbox', { name: 'canceled' }).check();
    await form.getByRole('checkbox', { name: 'unpaid' }).check();
  });
  await page.waitForURL(/status%5Bin%5D=/);
  await rowWith(page, 'cus_ada').waitFor();
  await page.goto(`${origin}/console#/subscriptions?status=past_due`);
  await page.getByRole('heading', { name: 'No customer is like that.' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('cus_ada');
  await page.getByRole('option', { name: 'Customer cus_ada' }).click();
  await heading(page, 'cus_ada');
  await page.locator('h1 + .badge', { hasText: 'canceled' }).waitFor();
  const history = page.locator('.history li');
  await history.nth(6).waitFor();
  const states = (await history.locator('p').allInnerTexts()).toReversed();
  t.same(states, [
    'none → incomplete',
    'incomplete → incomplete',
    'incomplete → active',
    'active → past due',
    'past due → unpaid',
    'unpaid → active',
    'active → canceled',
  ]);
  const subscriptions = page.locator('main .part h2').filter({ has: page.locator('.badge') });
  t.equal(await subscriptions.count(), 2);
  await subscriptions.filter({ hasText: /^sub_.*canceled/ }).waitFor();
  await page.getByRole('link', { name: 'What arrived about this customer' }).click();
  await heading(page, 'Events');
  await rowWith(page, 'customer.subscription.deleted').getByRole('link').first().click();
  await heading(page, 'customer.subscription.deleted');
  await page.locator('pre', { hasText: '"evt_cus_ada_8"' }).waitFor();
  await page.getByRole('link', { name: 'cus_ada' }).click();
  await heading(page, 'cus_ada');
  await page.goBack();
  await heading(page, 'customer.subscription.deleted');
  t.same(errors, []);
  await page.goto(`${origin}/console#/subscriptions/cus_nobody`);
  await page.getByRole('alert').getByText('not found').waitFor();
  await page.getByRole('link', { name: 'All customers' }).click();
  await rowWith(page, 'cus_ada').waitFor();
});
