import t from 'tap';
import { paymentEvent } from '../../helper/webhooks.ts';
import {
  accessibilityProblems,
  phone,
  rowsOf,
  rowWith,
  scrollsSideways,
  wide,
} from '../../rig/pages/browser.ts';
import { startOperated } from '../../rig/pages/operated.ts';

t.test('events come in while one looks, and failed ones are replayed: one, then all of them', async t => {
  const { deliver, eventually, repair, visit } = await startOperated(t, 'open');
  const { page, errors } = await visit('#events');
  await rowWith(page, 'dead').waitFor();
  await deliver(paymentEvent({ id: 'evt_new', customer: 'cus_new' }));
  await rowWith(page, 'cus_new').getByText('processed').waitFor();

  repair();
  await page.getByLabel("Provider's id").fill('evt_dispute_1');
  await page.keyboard.press('Enter');
  // One event has no use for it.
  await page.getByRole('button', { name: 'Replay all', disabled: true }).waitFor();
  await rowWith(page, 'charge.dispute.created').getByRole('link').first().click();
  const dialog = page.getByRole('dialog', { name: 'charge.dispute.created' });
  await dialog.getByText('the ledger does not answer').first().waitFor();
  await dialog.getByText('"payment_intent"').first().waitFor();
  await dialog.getByRole('button', { name: 'Replay' }).click();
  await dialog.getByText('processed', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await rowWith(page, 'processed').waitFor();
  await page.locator('tbody a:focus', { hasText: 'charge.dispute.created' }).waitFor();

  await page.getByRole('link', { name: '2', exact: true }).click();
  await page.waitForURL(/status=dead/);
  await rowWith(page, 'dead').waitFor();
  await page.getByRole('button', { name: 'Replay all that match' }).click();
  const question = page.getByRole('dialog', { name: 'Replay 2 events?' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  t.equal((await eventually('status=dead', 'dead')).status, 'dead', 'nothing happened');
  await page.getByRole('button', { name: 'Replay all that match' }).click();
  await question.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('2 events replayed.').waitFor();
  await eventually('event=evt_dispute_3', 'processed');
  await page.getByText('Nothing matches.').waitFor();
  t.equal(await rowsOf(page).count(), 0, 'none is dead any more');
  t.same(errors, []);
});

t.test('dead events are put away, one or all that match', async t => {
  const { eventually, visit } = await startOperated(t, 'open');
  await eventually('event=evt_dispute_3', 'dead');
  const { page, errors } = await visit('#events?status=dead');
  await rowWith(page, 'dead').first().getByRole('link').first().click();
  const event = page.getByRole('dialog');
  await event.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByText('The event is dismissed.').waitFor();
  await event.getByText('dismissed').first().waitFor();
  await event.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Dismiss all that match' }).click();
  await page
    .getByRole('dialog', { name: /^Dismiss \d+ events?\?/ })
    .getByRole('button', { name: 'Dismiss' })
    .click();
  await page.getByText('Nothing matches.').waitFor();
  t.same(errors, []);
});

t.test(
  'older events are loaded without a gap, also while so many come in that the list begins again',
  async t => {
    const { deliver, visit } = await startOperated(t, 'open');
    const deliverMany = async (prefix: string) => {
      for (let i = 0; i < 60; i++)
        await deliver(paymentEvent({ id: `evt_${prefix}_${i}`, customer: prefix }));
    };
    await deliverMany('first');
    const { page } = await visit('#events');
    const more = page.getByRole('button', { name: 'Load older' });
    let answerLate = () => {};
    const isLate = new Promise<void>(resolve => {
      answerLate = resolve;
    });
    await page.route(/after=\w/, async route => {
      await isLate;
      await route.continue();
    });
    await more.click();
    await deliverMany('second');
    // What the page read during the deliveries has only a part of them.
    await (await page.waitForRequest(/webhook-events\?(?!.*after=\w)/)).response();
    await page.getByRole('button', { name: 'Show the many new' }).click();
    await rowsOf(page).filter({ hasText: 'second' }).nth(49).waitFor();
    const late = page.waitForResponse(/after=\w/);
    answerLate();
    await (await late).finished();
    // The page ignores clicks on the button until it has read that. What it is asked later, it reads later.
    await page.evaluate('fetch("/health/live").then(answer => answer.text())');
    for (let clicks = 0; (await more.isVisible()) && clicks < 9; clicks++) {
      const shown = await rowsOf(page).count();
      await more.click();
      await rowsOf(page).nth(shown).waitFor();
    }
    t.equal(await rowsOf(page).filter({ hasText: 'first' }).count(), 60);
    t.equal(await rowsOf(page).filter({ hasText: 'second' }).count(), 60);
  },
);

t.test('a customer has a history of states, each with its event', async t => {
  const { eventually, visit } = await startOperated(t, 'open');
  await eventually('event=evt_cus_ada_8', 'processed');
  const { page } = await visit('#customers');
  await page.getByLabel('Customer').fill('cus_ada');
  await page.keyboard.press('Enter');
  await rowWith(page, 'evt_cus_ada_0').waitFor();
  const states = await page.locator('tbody td[data-head="To"]').allInnerTexts();
  t.same(states.toReversed(), [
    'incomplete',
    'incomplete',
    'active',
    'past due',
    'unpaid',
    'active',
    'canceled',
  ]);
  const subscriptions = page.getByRole('table', { name: 'Subscriptions' }).locator('tbody tr');
  t.equal(await subscriptions.count(), 2);
  await subscriptions.filter({ hasText: 'canceled' }).getByText(/^sub_/).waitFor();
  await page.getByRole('link', { name: 'evt_cus_ada_5' }).click();
  await page.getByRole('dialog').getByText('"unpaid"').first().waitFor();
  await page.goBack();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.getByLabel('Customer').fill('cus_nobody');
  await page.keyboard.press('Enter');
  await page.getByText('cus_nobody has no subscription.').waitFor();
});

t.test('what strangers wrote stays text', async t => {
  const { deliver, eventually, visit } = await startOperated(t, 'open');
  const attack = '<img src=x onerror="document.title=1">';
  const { page, errors } = await visit('');
  await deliver({ id: attack, type: attack, data: { object: { customer: attack, note: attack } } });
  await eventually(`type=${encodeURIComponent(attack)}`, 'ignored');
  await rowWith(page, attack).getByRole('link').first().click();
  await page.getByRole('dialog').getByText(attack).first().waitFor();
  t.equal(await page.title(), 'Triport console');
  t.same(errors, [], 'not even tried: the browser would report the violated policy');
});

t.test('without the service the page says so, and goes on when it is back', async t => {
  const { visit } = await startOperated(t, 'open');
  const { page } = await visit('');
  await rowWith(page, 'dead').waitFor();
  await page.route('**/api/**', route => route.abort());
  await page.getByText(/cannot be reached. Trying again in \d+ s/).waitFor();
  await page.unroute('**/api/**');
  await page.getByText(/cannot be reached/).waitFor({ state: 'hidden' });
});

t.test('what a balancer answers in place of the service stops nothing', async t => {
  const { visit } = await startOperated(t, 'open');
  // Also the name of a member that every object has.
  const { page } = await visit('#constructor');
  await rowWith(page, 'dead').waitFor();
  for (const [answer, says] of [
    [
      { status: 503, headers: { 'retry-after': 'Mon, 23 Nov 2099 16:00:00 GMT' }, body: 'Busy' },
      'answered 503',
    ],
    [{ status: 200, body: '<h1>Sign in</h1>' }, 'The answer is not from the service'],
  ] as const) {
    await page.route('**/api/**', route => route.fulfill(answer));
    await page.getByText(new RegExp(`${says}.* Trying again in \\d+ s`)).waitFor();
    await page.unroute('**/api/**');
    await page.getByText(says).waitFor({ state: 'hidden' });
  }
});

t.test('every view is for everybody: dark, on a phone, by keyboard', async t => {
  const { eventually, visit } = await startOperated(t, 'open');
  const { id } = await eventually('event=evt_dispute_2', 'dead');
  // Where each is, and what only that one has once it is drawn.
  const views = {
    events: ['#events', 'caption:text("Events") ~ tbody tr'],
    event: [`#events?open=${id}`, 'dialog pre'],
    customer: ['#customers?customer=cus_ada', 'main h3'],
    keys: ['#keys', 'caption:text("Keys") ~ tbody tr'],
    audit: ['#audit', 'caption:text("Entries") ~ tbody tr'],
  } as const;
  for (const [colorScheme, viewport] of [
    ['light', wide],
    ['dark', phone],
  ] as const) {
    const { page, errors } = await visit('', { colorScheme, viewport });
    for (const [name, [view, content]] of Object.entries(views)) {
      await page.goto(`${page.url().split('#')[0]}${view}`);
      await page.locator(content).first().waitFor({ state: 'attached' });
      t.same(await accessibilityProblems(page), [], `${name}, ${colorScheme}`);
      t.notOk(await scrollsSideways(page), `${name}, ${viewport.width} pixels`);
      // The pictures of docs/console.md.
      const { SCREENSHOTS } = process.env;
      if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/console-${name}-${colorScheme}.png` });
    }
    t.same(errors, []);
  }
});
