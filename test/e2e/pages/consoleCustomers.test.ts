// runs: long
import t from 'tap';
import { rowWith } from '#test/rig/pages/browser.ts';
import { addFilter, heading } from '#test/rig/pages/console.ts';
import { startOperated } from '#test/rig/pages/operated.ts';

const { origin, visit } = await startOperated(t, 'open');

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
