// runs: long
import type { Page, Route } from 'playwright-core';
import t from 'tap';
import { rowsOf, rowWith } from '#test/rig/pages/browser.ts';
import { heading, press } from '#test/rig/pages/console.ts';
import { startOperated } from '#test/rig/pages/operated.ts';
import { specimen } from '#test/world/specimens.ts';
import { splinter } from '#test/world/splinters.ts';

const { call, make, newUser, origin, visit } = await startOperated(t, 'open');

const focused = (page: Page) => page.evaluate('document.activeElement.id');

t.test(
  'a refusal stands beside its member, and what somebody else has changed is merged or chosen',
  async t => {
    const { id } = await make(specimen, { label: 'Skull', bones: 1, remark: 'Mine' });
    const { page } = await visit(`#/specimens/${id}`);
    await heading(page, 'Skull');
    await page.locator('#f-bones').fill('many');
    await page.locator('#f-finder').fill('nobody');
    await press(page, 'Control+Enter');
    await page.locator('#f-bones-why', { hasText: 'whole number' }).waitFor();
    await page.locator('#f-finder-why', { hasText: 'e-mail' }).waitFor();
    t.equal(await focused(page), 'f-bones');
    await page.locator('#f-extra').fill('{"no json');
    await page.locator('#f-bones').fill('2');
    await page.locator('#f-finder').fill('');
    await press(page, 'Control+Enter');
    await page.locator('#f-extra-why', { hasText: 'This is not JSON' }).waitFor();
    await page.locator('#f-extra').fill('');

    await page.locator('#f-remark').fill('Mine, and longer');
    await call('PATCH', `/api/specimens/${id}`, 200, { body: { bones: 7, cents: 5 } });
    await page.getByText('Somebody was faster.').waitFor();
    await page.getByText('bones was changed by both.').waitFor();
    t.equal(await page.locator('#f-cents').inputValue(), '5', 'what only they changed is there');
    await press(page, 'Control+Enter');
    await page.getByText('Choose: theirs or yours.').waitFor();
    await page.locator('.theirs').getByRole('button', { name: 'Keep mine' }).click();
    await page.locator('#f-remark').focus();
    await press(page, 'Control+Enter');
    await page.getByText('Saved.').waitFor();
    t.match((await call('GET', `/api/specimens/${id}`, 200)).body, {
      bones: 2,
      cents: 5,
      remark: 'Mine, and longer',
      version: 3,
    });

    await page.locator('#f-remark').fill('Typed and left');
    await page.goto(`${origin}/console#/burrows`);
    await heading(page, 'burrows');
    await page.goBack();
    await heading(page, 'Skull');
    t.equal(await page.locator('#f-remark').inputValue(), 'Typed and left', 'nothing typed is lost');
    await page.getByRole('button', { name: 'Discard' }).click();
    t.equal(await page.locator('#f-remark').inputValue(), 'Mine, and longer');
  },
);

t.test('without the stream, a change on a stale version is a 412 that is merged in the same way', async t => {
  const { id } = await make(specimen, { label: 'Jaw' });
  const { page } = await visit('');
  await page.route('**/api/changes', route => route.abort());
  await page.goto(`${origin}/console#/specimens/${id}`);
  await page.reload();
  await heading(page, 'Jaw');
  await call('PATCH', `/api/specimens/${id}`, 200, { body: { label: 'Their jaw' } });
  await page.locator('#f-label').fill('My jaw');
  await press(page, 'Control+Enter');
  await page.getByText('Somebody was faster.').waitFor();
  await page.getByRole('button', { name: 'Take it' }).click();
  t.equal(await page.locator('#f-label').inputValue(), 'Their jaw');
});

t.test('what changes elsewhere is marked in its place, and what is new waits', async t => {
  const piece = await make(splinter, { length: 11_111 });
  const { page, errors } = await visit('#/splinters');
  await rowWith(page, '11,111').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await call('PATCH', `/api/splinters/${piece.id}`, 200, { body: { length: 22_222 } });
  await page.locator('tr.fresh', { hasText: '22,222' }).waitFor();
  await make(splinter, { length: 33_333, specimenId: piece.specimenId });
  await page.getByRole('button', { name: '1 new' }).click();
  await rowsOf(page).first().filter({ hasText: '33,333' }).waitFor();
  await call('DELETE', `/api/splinters/${piece.id}`, 204);
  await page.locator('tr.gone', { hasText: '22,222' }).waitFor();
  t.same(errors, []);
});

t.test('what was typed and left is no reason to overwrite what somebody else has changed since', async t => {
  const { id } = await make(specimen, { label: 'Femur', bones: 1 });
  const { page } = await visit(`#/specimens/${id}`);
  await heading(page, 'Femur');
  await page.locator('#f-label').fill('My femur');
  await page.goto(`${origin}/console#/specimens`);
  await heading(page, 'specimens');
  await call('PATCH', `/api/specimens/${id}`, 200, { body: { label: 'Their femur', bones: 2 } });
  await page.goBack();
  await heading(page, 'Their femur');
  await page.getByText('Somebody was faster.').waitFor();
  t.equal(await page.locator('#f-label').inputValue(), 'My femur');
  t.equal(await page.locator('#f-bones').inputValue(), '2');
  await page.getByText('1 changed, 1 to choose').waitFor();
  await call('PATCH', `/api/specimens/${id}`, 200, { body: { label: 'My femur' } });
  await page.getByText('Theirs:').waitFor({ state: 'hidden' });
  await heading(page, 'My femur');
});

t.test('what is saved is shown as the service writes it, and nothing is left to save', async t => {
  const { id } = await make(specimen, { label: 'Patella' });
  const { page } = await visit(`#/specimens/${id}`);
  await heading(page, 'Patella');
  // Changes another member too, as a rule of the service can.
  await page.route(`**/api/specimens/${id}`, route => {
    const sent = route.request().postDataJSON();
    return route.continue(sent && { postData: JSON.stringify({ ...sent, remark: 'By a rule' }) });
  });
  await page.locator('#f-extra').fill('{"a":1,"b":[2]}');
  await page.locator('#f-foundAt').fill('2026-12-01T09:30+02:00');
  await page.locator('#f-bones').fill('007');
  await press(page, 'Control+Enter');
  await page.getByText('Saved.').waitFor();
  t.equal(await page.locator('#f-foundAt').inputValue(), '2026-12-01 07:30');
  t.equal(await page.locator('#f-bones').inputValue(), '7');
  t.equal(await page.locator('#f-remark').inputValue(), 'By a rule');
  await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'hidden' });
});

t.test('what is typed while a save is under way is there afterwards, and the focus too', async t => {
  const { id } = await make(specimen, { label: 'Tibia' });
  const { page } = await visit(`#/specimens/${id}`);
  await heading(page, 'Tibia');
  await page.getByText('Live', { exact: true }).waitFor();
  const held = Promise.withResolvers<void>();
  await page.route(`**/api/specimens/${id}`, async route => {
    const response = await route.fetch();
    if (route.request().method() === 'PATCH') await held.promise;
    await route.fulfill({ response });
  });
  // The stream tells of the change before the answer does.
  await page.evaluate(`import(document.querySelector('[src$="/live.js"]').src).then(({ onChange }) => {
    const { signal } = new AbortController();
    self.told = new Promise(tell => onChange(change => change.record?.version === 2 && tell(), signal));
  })`);
  await page.locator('#f-remark').fill('First');
  const sent = page.waitForRequest(request => request.method() === 'PATCH');
  await press(page, 'Control+Enter');
  await sent;
  await page.keyboard.type(', and more');
  await page.evaluate('told');
  held.resolve();
  await page.getByText('Saved.').waitFor();
  t.equal((await call('GET', `/api/specimens/${id}`, 200)).body.remark, 'First');
  t.equal(await page.locator('#f-remark').inputValue(), 'First, and more');
  t.equal(await page.evaluate('document.activeElement.id'), 'f-remark');
  await press(page, 'Control+Enter');
  await page.getByText('version 3').waitFor();
  t.equal((await call('GET', `/api/specimens/${id}`, 200)).body.remark, 'First, and more');
});

t.test('a state that took long to show does not replace a later one', async t => {
  const { id } = await make(specimen, { label: 'Ulna' });
  const { page } = await visit(`#/specimens/${id}`);
  await heading(page, 'Ulna');
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const hold = async (route: Route) => {
    const response = await route.fetch();
    asked.resolve();
    await held.promise;
    await route.fulfill({ response });
  };
  await page.route('**/api/audit?*', hold, { times: 1 });
  await call('PATCH', `/api/specimens/${id}`, 200, { body: { label: 'Their ulna' } });
  await asked.promise;
  await page.locator('#f-remark').fill('Mine');
  await press(page, 'Control+Enter');
  await page.locator('.history', { hasText: 'changed remark' }).waitFor();
  held.resolve();
  await page.waitForTimeout(500);
  t.ok(await page.locator('.history', { hasText: 'changed remark' }).isVisible());
  t.ok(await page.getByText('version 3').isVisible());
});

t.test('an action of the record leaves what is being typed', async t => {
  const { id } = await newUser({ name: 'Grace Hopper' });
  const { page } = await visit(`#/users/${id}`);
  await heading(page, 'Grace Hopper');
  await page.locator('#f-name').fill('Grace');
  await page.getByRole('button', { name: 'Identities' }).click();
  const dialog = page.getByRole('dialog', { name: 'Link an identity to a user' });
  await dialog.locator('#asked-issuer').fill('https://login.example.com');
  await dialog.locator('#asked-subject').fill('grace');
  await press(page, 'Enter');
  await page.getByText('Done.').waitFor();
  t.equal(await page.locator('#f-name').inputValue(), 'Grace');
});

t.test('what would not be sent as it is typed is said, and nothing is sent', async t => {
  const { id } = await make(specimen, { label: 'Fibula' });
  const { page } = await visit(`#/specimens/${id}`);
  await heading(page, 'Fibula');
  const writes: string[] = [];
  page.on('request', request => request.method() === 'PATCH' && writes.push(request.postData() ?? ''));
  await page.locator('#f-bones').fill('');
  await press(page, 'Control+Enter');
  await page.locator('#f-bones-why', { hasText: 'A value is required.' }).waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.locator('#f-extra').fill('{"n": 12345678901234567890}');
  await press(page, 'Control+Enter');
  await page.locator('#f-extra-why', { hasText: '12345678901234567890 would be rounded' }).waitFor();
  t.same(writes, []);
});

t.test('a record is shown as it is now, and can be deleted after a change elsewhere', async () => {
  const { id } = await make(specimen, { label: 'Ulna' });
  const { page } = await visit(`#/specimens/${id}`);
  await heading(page, 'Ulna');
  await page.getByText('Live', { exact: true }).waitFor();
  await call('PATCH', `/api/specimens/${id}`, 200, { body: { label: 'Radius' } });
  await heading(page, 'Radius');
  await page.getByText('version 2').waitFor();
  await page.locator('.history', { hasText: 'changed label' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete 1 specimen' }).click();
  await page.getByText('Deleted: Radius.').waitFor();
  await call('GET', `/api/specimens/${id}`, 404);
});

t.test('a list and a record come by themselves when the service is back', async () => {
  const { id } = await make(specimen, { label: 'Scapula' });
  const { page } = await visit('#/keys');
  await heading(page, 'Keys');
  for (const [address, name] of [
    ['specimens', 'specimens'],
    [`specimens/${id}`, 'Scapula'],
  ] as const) {
    await page.route('**/api/**', route => route.abort());
    await page.goto(`${origin}/console#/${address}`);
    await page.getByText('The service cannot be reached.').first().waitFor();
    await page.unroute('**/api/**');
    await heading(page, name);
    await page.getByText('The service cannot be reached.').waitFor({ state: 'hidden' });
    await page.getByText('Scapula').first().waitFor();
  }
});
