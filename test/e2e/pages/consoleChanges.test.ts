// runs: long
import type { Page } from 'playwright-core';
import t from 'tap';
import { rowsOf, rowWith } from '#test/rig/pages/browser.ts';
import { heading, press } from '#test/rig/pages/console.ts';
import { startOperated } from '#test/rig/pages/operated.ts';
import { burrow } from '#test/world/burrows.ts';
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

t.test('a tree, a join and their deletion: parents and children lead to each other', async t => {
  const user = await newUser({ name: 'Grace Hopper' });
  const root = await make(burrow, { label: 'Root', parentId: null });
  const child = await make(burrow, { label: 'Branch', parentId: root.id });
  const { page } = await visit(`#/burrows/${root.id}`);
  await page.getByRole('link', { name: 'Branch' }).click();
  await heading(page, 'Branch');
  await page.locator('aside').getByRole('link', { name: 'Root' }).click();
  await heading(page, 'Root');
  const section = page.locator('aside .part', { hasText: 'tendings' });
  await section.getByRole('link', { name: 'Add one' }).click();
  await heading(page, 'New tending');
  t.equal(await page.locator('#f-burrowId').inputValue(), 'Root');
  const choose = async () => {
    await page.locator('#f-userId').fill('Grace');
    await page.getByRole('option', { name: 'Grace Hopper' }).click();
    await press(page, 'Control+Enter');
  };
  await choose();
  await page.waitForURL(/tendings\/0/);
  const { body } = await call('GET', `/api/tendings?burrow=${root.id}`, 200);
  t.equal(body.data[0].userId, user.id);
  await page.goto(`${origin}/console#/tendings/new?burrowId=${root.id}`);
  await heading(page, 'New tending');
  await choose();
  await page.getByText('Another record with this burrow id and user id exists.').waitFor();

  await page.goto(`${origin}/console#/burrows/${root.id}`);
  await heading(page, 'Root');
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete the burrow Root?' });
  await dialog.getByText('1 burrow, 1 tending hang on it').waitFor();
  const action = dialog.getByRole('button', { name: 'Delete 1 burrow, 1 burrow, 1 tending' });
  await action.click();
  await call('GET', `/api/burrows/${child.id}`, 200);
  await dialog.getByRole('checkbox').check();
  await action.click();
  await page.getByText('Deleted: Root.').waitFor();
  await call('GET', `/api/burrows/${child.id}`, 404);
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
