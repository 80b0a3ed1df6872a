// runs: long
import t from 'tap';
import { serviceName } from '#schemas/name.ts';
import { users } from '#src/domain/users.ts';
import { addIdentity } from '#src/people/identities.ts';
import { inside, makeKey, makeUser } from '#test/helper/access.ts';
import { accessibilityProblems, rowsOf, rowWith } from '#test/rig/pages/browser.ts';
import { copied, enterKey, heading } from '#test/rig/pages/console.ts';
import { startOperated } from '#test/rig/pages/operated.ts';

const { database, key, origin, visit } = await startOperated(t, 'required');

t.test('a key is asked for in words, and is kept only in memory', async t => {
  const { page } = await visit('');
  await page.getByRole('heading', { name: 'This service requires a key' }).waitFor();
  t.same(await accessibilityProblems(page), []);
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('Escape');
  await enterKey(page, 'no header can hold …');
  t.equal(await page.locator('dialog input:invalid').count(), 1);
  await enterKey(page, 'nonsense');
  await page.getByRole('heading', { name: 'The service refuses this key' }).waitFor();
  await enterKey(page, key);
  await page.getByRole('link', { name: '3 events are dead.' }).waitFor();
  await page.getByRole('radio', { name: 'Dark' }).check({ force: true });
  t.equal(await page.evaluate('JSON.stringify(localStorage)'), '{"theme":"dark"}', 'only the colours');
  t.same(await page.evaluate('[sessionStorage.length, document.cookie]'), [0, '']);
  t.notMatch(page.url(), `${serviceName}_`);
  await page.getByRole('button', { name: 'Ada on call' }).click();
  await page.getByRole('heading', { name: 'This service requires a key' }).waitFor();
});

t.test('a key is created, shown once, works, is revoked, and the audit log leads to it', async t => {
  const { page } = await visit('#/keys');
  await enterKey(page, key);
  await rowWith(page, 'Ada on call').getByText('(this page)').waitFor();
  await page.getByRole('button', { name: 'New key' }).click();
  const dialog = page.getByRole('dialog', { name: 'New key' });
  await dialog.locator('#f-name').fill('import');
  await dialog.getByRole('button', { name: 'Make the key' }).click();
  await dialog.locator('.why', { hasText: /./ }).first().waitFor();
  await dialog.getByRole('checkbox', { name: 'read' }).check();
  // A double click must create one key only.
  await dialog.getByRole('button', { name: 'Make the key' }).dblclick();
  const shown = page.getByRole('dialog', { name: 'The key import is made' });
  await shown.getByRole('button', { name: 'Copy the key' }).click();
  await page.getByText('Copied: the key.').waitFor();
  const created = await copied(page);
  t.equal(await shown.locator('pre').innerText(), created);
  const status = async () =>
    (await fetch(`${origin}/api/users`, { headers: { authorization: `Bearer ${created}` } })).status;
  t.equal(await status(), 200);
  await shown.getByRole('button', { name: 'I have it' }).click();
  await rowWith(page, 'import').getByText('active').waitFor();
  t.equal(await rowsOf(page).filter({ hasText: 'import' }).count(), 1);
  t.notMatch(await page.content(), created, 'it is nowhere any more');
  await page.getByRole('link', { name: 'import' }).click();
  await heading(page, 'import');
  await page.getByRole('button', { name: 'Revoke' }).click();
  const asked = page.getByRole('dialog', { name: 'Revoke the key import?' });
  await asked.getByRole('button', { name: 'Not now' }).click();
  t.equal(await status(), 200);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await asked.getByRole('button', { name: 'Revoke it' }).click();
  await page.getByText('The key import is revoked.').waitFor();
  await page.getByRole('button', { name: 'Revoke' }).waitFor({ state: 'detached' });
  t.equal(await status(), 401);

  await page.getByRole('link', { name: 'Audit log', exact: true }).click();
  const entry = rowWith(page, 'key.revoke');
  await entry.getByText('Ada on call').waitFor();
  await entry.getByRole('button', { name: 'Copy the request id' }).click();
  await page.getByText('Copied: the request id.').waitFor();
  t.match(await copied(page), /^[\w-]{20,}$/);
  await entry.locator('[data-head="Record"] a').click();
  await heading(page, 'import');
});

t.test('a user is shown with identities, and a key with its user', async t => {
  const { id } = await makeUser(database, { name: 'Grace Hopper' });
  await addIdentity(inside(database), users, id, {
    issuer: 'https://login.example.com',
    subject: 'auth0|grace',
  });
  await makeKey(database, ['own'], { userId: id, name: 'phone' });
  const { page } = await visit('#/users');
  await enterKey(page, key);
  await page.getByRole('link', { name: 'Grace Hopper' }).click();
  await page.locator('.part', { hasText: 'Identities' }).getByText('auth0|grace').waitFor();
  t.same(await accessibilityProblems(page), []);
  await page.getByRole('link', { name: 'In the audit log' }).click();
  await rowWith(page, 'identity.create').waitFor();

  await page.getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('link', { name: 'phone' }).click();
  await heading(page, 'phone');
  await page.locator('aside').getByRole('link', { name: 'Grace Hopper' }).click();
  await heading(page, 'Grace Hopper');
});
