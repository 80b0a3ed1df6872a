// runs: long
import t from 'tap';
import { serviceTitle } from '#schemas/name.ts';
import { makeKey, makeUser } from '#test/helper/access.ts';
import { inBothLooks, rowsOf, rowWith } from '#test/rig/pages/browser.ts';
import { heading } from '#test/rig/pages/console.ts';
import { startOperated } from '#test/rig/pages/operated.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

const { call, database, deliver, eventually, make, origin, visit } = await startOperated(t, 'open');
const { id: dead } = await eventually('event=evt_dispute_2', 'dead');

t.test('every view is for everybody: dark, on a phone, by keyboard', async t => {
  const user = await makeUser(database, { name: 'Grace Hopper' });
  const key = await makeKey(database, ['own'], { userId: user.id, name: 'phone' });
  const den = await make(burrow, { label: 'Badger sett' });
  const { id } = await make(specimen, { label: 'A molar', grade: 'fine', burrowId: den.id });
  const list = 'tbody tr a';
  // The address of each view, its heading, and what only this view shows once it is drawn.
  const views = {
    overview: ['overview', 'Overview', '.plot:nth-child(6)'],
    day: [
      'overview?period=day',
      'Overview',
      '[name="period"]:checked + *, label:has(:checked):text("Last day")',
    ],
    events: ['webhook-events', 'Events', list],
    event: [`webhook-events/${dead}`, 'charge.dispute.created', 'pre'],
    customers: ['subscriptions', 'Customers', list],
    customer: ['subscriptions/stripe:cus_ada', 'cus_ada', '.history li'],
    users: ['users', 'users', list],
    user: [`users/${user.id}`, 'Grace Hopper', '.history li'],
    specimen: [`specimens/${id}`, 'A molar', '.history li'],
    'new-specimen': ['specimens/new', 'New specimen', '#f-label'],
    'filtered-specimens': [`specimens?grade[in]=fine&burrow[in]=${den.id}`, 'specimens', list],
    keys: ['keys', 'Keys', list],
    key: [`keys/${key.id}`, 'phone', '.history li'],
    audit: ['audit', 'Audit log', list],
  } as const;
  const open = visit.bind(undefined, '');
  await inBothLooks(t, open, async (page, check, { viewport }) => {
    for (const [name, [address, title, content]] of Object.entries(views)) {
      await page.goto(`${origin}/console#/${address}`);
      await heading(page, title);
      await page.locator(`main :is(${content})`).first().waitFor({ state: 'attached' });
      await page.locator('.part:empty').first().waitFor({ state: 'detached' });
      await check(name);
      if (content === list) {
        const first = await rowsOf(page).first().boundingBox();
        t.ok(Number(first?.y) < viewport.height / 2, `${name}: the list begins in the upper half`);
      }
    }
  });
});

t.test('what opens over a view is for everybody, too', async t => {
  await inBothLooks(t, visit.bind(undefined, '#/keys'), async (page, check, { viewport }) => {
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('dialog', { name: 'New key' }).waitFor();
    await check('the new key');
    await page.keyboard.press('Escape');
    await page.goto(`${origin}/console#/specimens`);
    await heading(page, 'specimens');
    await page.locator('#add-filter summary').click();
    await page.locator('.pop button').first().waitFor();
    await check('the filters');
    await page.locator('.pop button', { hasText: /^burrow/ }).click();
    await page.keyboard.type('Badger sett');
    await page.getByRole('option', { name: 'Badger sett' }).waitFor();
    await check('one filter');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: 'Overview page' }).waitFor();
    await check('the jump');
    await page.keyboard.press('Escape');
    if (viewport.width < 1000) {
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('link', { name: 'Audit log' }).waitFor();
      await check('the lists');
    }
  });
});

t.test('what strangers wrote stays text', async t => {
  const attack = '<img src=x onerror="document.title=1">';
  const { page, errors } = await visit('#/webhook-events');
  await deliver({ id: attack, type: attack, data: { object: { customer: attack, note: attack } } });
  await eventually(`type=${encodeURIComponent(attack)}`, 'ignored');
  await rowWith(page, attack).getByRole('link').first().click();
  await heading(page, attack);
  await page.locator('pre', { hasText: attack.replaceAll('"', String.raw`\"`) }).waitFor();
  const den = await make(burrow, { label: attack });
  const { id } = await make(specimen, { label: attack, extra: { [attack]: attack }, burrowId: den.id });
  await call('PATCH', `/api/specimens/${id}`, 200, { body: { remark: attack } });
  await makeKey(database, ['read'], {
    name: attack,
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
  });
  await page.goto(`${origin}/console#/specimens?burrow[in]=${den.id}`);
  await page.locator('.chip', { hasText: attack }).waitFor();
  t.equal(await rowWith(page, attack).getByRole('link', { name: attack }).count(), 2, 'itself, its burrow');
  await rowWith(page, attack).getByRole('link').first().click();
  await heading(page, attack);
  t.match(await page.locator('#f-extra').inputValue(), JSON.stringify(attack));
  await page.locator('aside').getByRole('link', { name: attack }).waitFor();
  await page.locator('.history', { hasText: 'changed remark' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: `Delete the specimen ${attack}?` }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type(attack);
  await page.getByRole('option', { name: `Customer ${attack}` }).waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type(id);
  await page.getByRole('option', { name: `${attack} specimen` }).waitFor();
  await page.keyboard.press('Escape');
  await page.goto(`${origin}/console#/overview`);
  await page.getByRole('link', { name: `The key ${attack} ends soon` }).waitFor();
  await page.goto(`${origin}/console#/${encodeURIComponent(attack)}`);
  await page.getByRole('heading', { name: 'There is nothing for you' }).waitFor();
  t.match(await page.title(), new RegExp(`${serviceTitle}$`));
  t.equal(await page.locator('img').count(), 0);
  t.same(errors, [], 'not even tried: the browser would report the violated policy');
});

t.test('without the service, or behind a balancer that answers in its place, the page goes on', async t => {
  // A list may be named like a member that every object has.
  const { page } = await visit('#/constructor');
  await page.getByRole('heading', { name: 'There is nothing for you at “constructor”.' }).waitFor();
  await page.clock.install();
  await page.goto(`${origin}/console#/webhook-events?status=dead`);
  await page.reload();
  for (const [answer, says] of [
    [undefined, 'cannot be reached'],
    [
      { status: 503, headers: { 'retry-after': 'Mon, 23 Nov 2099 16:00:00 GMT' }, body: 'Busy' },
      'answered 503',
    ],
    [{ status: 200, body: '<h1>Sign in</h1>' }, 'The answer is not from the service'],
  ] as const) {
    await rowWith(page, 'dead').waitFor();
    await page.route('**/api/**', route => (answer ? route.fulfill(answer) : route.abort()));
    await page.clock.fastForward(5_000);
    await page.getByText(new RegExp(`${says}.* Trying again in \\d+ s`)).waitFor();
    t.ok(await rowWith(page, 'dead').isVisible(), 'what was read stays');
    await page.unroute('**/api/**');
    await page.clock.fastForward(10_000);
    await page.getByText(says).waitFor({ state: 'hidden' });
  }
});
