// runs: long
import type { Page } from 'playwright-core';
import t from 'tap';
import { serviceTitle } from '#schemas/name.ts';
import { makeUser } from '#test/helper/access.ts';
import { paymentEvent } from '#test/helper/events/webhooks.ts';
import { inBothLooks, rowsOf, rowWith } from '#test/rig/pages/browser.ts';
import { startOperated } from '#test/rig/pages/operated.ts';

const { database, deliver, eventually, origin, repair, visit } = await startOperated(t, 'open');
const { id: dead } = await eventually('event=evt_dispute_2', 'dead');
const copied = async (page: Page) => String(await page.evaluate('navigator.clipboard.readText()'));

t.test('every view is for everybody: dark, on a phone, by keyboard', async t => {
  const { id } = await makeUser(database);
  // The address of each view, and what only this view shows once it is drawn.
  const views = {
    events: ['#events', 'caption:text("Events") ~ tbody tr'],
    event: [`#events?open=${dead}`, 'dialog pre'],
    customers: ['#customers', 'caption:text("Customers") ~ tbody tr'],
    customer: ['#customers?open=cus_ada', 'dialog table'],
    users: ['#users', 'caption:text("Users") ~ tbody tr'],
    user: [`#users?open=${id}`, 'dialog a'],
    keys: ['#keys', 'caption:text("Keys") ~ tbody tr'],
    audit: ['#audit', 'caption:text("Audit") ~ tbody tr'],
  } as const;
  const open = visit.bind(undefined, '');
  await inBothLooks(t, open, async (page, check, { colorScheme, viewport }) => {
    for (const [name, [view, content]] of Object.entries(views)) {
      await page.goto(`${origin}/console${view}`);
      await page.locator(content).first().waitFor({ state: 'attached' });
      await check(name);
      const first = await rowsOf(page).first().boundingBox();
      t.ok(Number(first?.y) < viewport.height / 2, `${name}: the list begins in the upper half`);
      // SCREENSHOTS is the folder for the pictures of docs/console.md.
      const { SCREENSHOTS } = process.env;
      if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/console-${name}-${colorScheme}.png` });
    }
  });
});

t.test('customers are listed by state, and each has a history of states with their events', async t => {
  const { page, errors } = await visit('#customers');
  await page.getByLabel('Status').selectOption('canceled');
  await page.keyboard.press('Tab');
  await page.getByRole('button', { name: 'Show' }).click();
  await rowWith(page, 'cus_ada').waitFor();
  await page.goto(`${origin}/console#customers?status=past_due`);
  await page.getByText('Nothing matches.').waitFor();
  await page.getByLabel('Customer').fill('cus_ada');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'cus_ada' });
  await rowWith(page, 'evt_cus_ada_0').waitFor();
  t.same((await dialog.locator('tbody td[data-head="To"]').allInnerTexts()).toReversed(), [
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
  await dialog.getByRole('link', { name: 'evt_cus_ada_5' }).click();
  await page.getByRole('dialog').getByText('"unpaid"').first().waitFor();
  await page.goBack();
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  t.same(errors, []);
  await page.getByRole('textbox', { name: 'Customer' }).fill('cus_nobody');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'cus_nobody' }).getByText('not found').waitFor();
});

t.test('events are found by time in UTC, and ids and bodies are copied', async t => {
  const { id, createdAt } = await eventually('event=evt_dispute_2', 'dead');
  const { page } = await visit('#events', { timezoneId: 'Asia/Tokyo', locale: 'de-DE' });
  const seconds = createdAt.slice(0, 19).replace('T', ' ');
  await rowWith(page, `${seconds} UTC`).waitFor();
  await page.getByLabel('Received since, UTC').fill(createdAt.slice(0, 16));
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/createdSince=20/);
  await rowWith(page, 'charge.dispute.created').waitFor();
  await page.getByRole('button', { name: 'Replay all', disabled: true }).waitFor();
  await page.getByLabel('Before, UTC').fill(createdAt.slice(0, 16));
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByText('Nothing matches.').waitFor();
  await page.goto(`${origin}/console#events?open=${id}`);
  await page.getByRole('button', { name: "Copy the provider's id" }).click();
  await page.getByRole('dialog').getByText("The provider's id is copied.").waitFor();
  t.equal(await copied(page), 'evt_dispute_2');
  await page.getByRole('button', { name: 'Copy the body' }).click();
  await page.getByText('The body is copied.').waitFor();
  t.equal(JSON.parse(await copied(page)).id, 'evt_dispute_2');
});

t.test('what strangers wrote stays text', async t => {
  const attack = '<img src=x onerror="document.title=1">';
  const { page, errors } = await visit('');
  await deliver({ id: attack, type: attack, data: { object: { customer: attack, note: attack } } });
  await eventually(`type=${encodeURIComponent(attack)}`, 'ignored');
  await rowWith(page, attack).getByRole('link').first().click();
  await page.getByRole('dialog').getByText(attack).first().waitFor();
  t.equal(await page.title(), `${serviceTitle} console`);
  t.same(errors, [], 'not even tried: the browser would report the violated policy');
});

t.test('without the service, or behind a balancer that answers in its place, the page goes on', async () => {
  // A view may be named like a member that every object has.
  const { page } = await visit('#constructor');
  await page.clock.install();
  await page.reload();
  await rowWith(page, 'dead').waitFor();
  for (const [answer, says] of [
    [undefined, 'cannot be reached'],
    [
      { status: 503, headers: { 'retry-after': 'Mon, 23 Nov 2099 16:00:00 GMT' }, body: 'Busy' },
      'answered 503',
    ],
    [{ status: 200, body: '<h1>Sign in</h1>' }, 'The answer is not from the service'],
  ] as const) {
    await page.route('**/api/**', route => (answer ? route.fulfill(answer) : route.abort()));
    await page.getByText(new RegExp(`${says}.* Trying again in \\d+ s`)).waitFor();
    await page.unroute('**/api/**');
    await page.clock.fastForward(10_000);
    await page.getByText(says).waitFor({ state: 'hidden' });
  }
});

t.test('events come in while one looks; failed ones are dismissed and replayed, one or all', async t => {
  const { page, errors } = await visit('#events');
  await rowWith(page, 'dead').waitFor();
  await deliver(paymentEvent({ id: 'evt_new', customer: 'cus_new' }));
  await rowWith(page, 'cus_new').getByText('processed').waitFor();

  await page.getByRole('link', { name: '3', exact: true }).click();
  await page.waitForURL(/status=dead/);
  const dialog = page.getByRole('dialog', { name: 'charge.dispute.created' });
  await rowWith(page, 'dead').getByRole('link').first().click();
  await dialog.getByText('the ledger does not answer').first().waitFor();
  await dialog.getByRole('button', { name: 'Dismiss' }).click();
  await dialog.getByText('The event is dismissed.').waitFor();
  await dialog.getByText('dismissed', { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();

  const answerNext = (isYes: boolean) =>
    new Promise<string>(resolve => {
      page.once('dialog', async dialog => {
        await (isYes ? dialog.accept() : dialog.dismiss());
        resolve(dialog.message());
      });
    });
  const dismissAll = page.getByRole('button', { name: 'Dismiss all that match' });
  for (const isYes of [false, true]) {
    const asked = answerNext(isYes);
    await dismissAll.click();
    t.match(await asked, 'Dismiss 2 events?');
    if (!isYes) await eventually('event=evt_dispute_1', 'dead');
  }
  await page.getByText('2 events dismissed.').waitFor();
  await page.getByText('Nothing matches.').waitFor();

  repair();
  await page.goto(`${origin}/console#events?event=evt_dispute_1`);
  // "Replay all" is disabled for one event.
  await page.getByRole('button', { name: 'Replay all', disabled: true }).waitFor();
  await rowWith(page, 'charge.dispute.created').getByRole('link').first().click();
  await dialog.getByRole('button', { name: 'Replay' }).click();
  await dialog.getByText('processed', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await rowWith(page, 'processed').waitFor();
  await page.locator('tbody a:focus', { hasText: 'charge.dispute.created' }).waitFor();

  await page.goto(`${origin}/console#events?status=dismissed`);
  await rowWith(page, 'dismissed').waitFor();
  const asked = answerNext(true);
  await page.getByRole('button', { name: 'Replay all that match' }).click();
  t.match(await asked, 'Replay 2 events?');
  await page.getByText('2 events replayed.').waitFor();
  await eventually('event=evt_dispute_3', 'processed');
  await page.getByText('Nothing matches.').waitFor();
  t.same(errors, []);
});

t.test(
  'older events are loaded without a gap, also while so many come in that the list begins again',
  async t => {
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
    // An answer that the page got during the deliveries has only a part of them.
    await (await page.waitForRequest(/webhook-events\?.*after=$/)).response();
    t.equal(await rowsOf(page).filter({ hasText: 'second' }).count(), 0, 'nothing moves while one reads');
    await page.getByRole('button', { name: 'Show the latest events' }).click();
    await rowsOf(page).filter({ hasText: 'second' }).nth(49).waitFor();
    const late = page.waitForResponse(/after=\w/);
    answerLate();
    await (await late).finished();
    // The page ignores clicks on the button until it has read the late answer, which it does before it reads this one.
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
