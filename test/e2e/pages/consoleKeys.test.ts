// runs: long
import type { Page } from 'playwright-core';
import t from 'tap';
import { serviceName } from '#schemas/name.ts';
import { users } from '#src/domain/users.ts';
import { addIdentity } from '#src/people/identities.ts';
import { inside, makeKey, makeUser } from '#test/helper/access.ts';
import { accessibilityProblems, rowsOf, rowWith } from '#test/rig/pages/browser.ts';
import { startOperated } from '#test/rig/pages/operated.ts';

const { database, key, origin, visit } = await startOperated(t, 'required');

/** Enters a key in the dialog, which must be open. */
async function enterKey(page: Page, key: string) {
  await page.locator('dialog input').fill(key);
  await page.keyboard.press('Enter');
}

t.test('a key is asked for in words, and is kept only in memory', async t => {
  const { page } = await visit('');
  await page.getByRole('heading', { name: 'This service requires a key' }).waitFor();
  t.same(await accessibilityProblems(page), []);
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('Escape');
  await enterKey(page, 'no header can hold …');
  t.equal(await page.locator('dialog input:invalid').count(), 1);
  await enterKey(page, 'nonsense');
  await page.getByRole('heading', { name: 'The service refuses this key' }).waitFor();
  await enterKey(page, (await makeKey(database, ['read'])).key);
  await page.getByRole('dialog').getByText('The scope "admin" is missing.').waitFor();
  await enterKey(page, key);
  await rowWith(page, 'charge.dispute.created').waitFor();
  t.same(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]'), [0, 0, '']);
  t.notMatch(page.url(), `${serviceName}_`);
  await page.getByRole('button', { name: 'Forget the key' }).click();
  await page.getByRole('heading', { name: 'This service requires a key' }).waitFor();
});

t.test('a key is created, shown once, works, is revoked, and the audit log leads to it', async t => {
  const { page } = await visit('#keys');
  await enterKey(page, key);
  await page.getByLabel('Name').fill('import');
  await page.getByLabel('Scope').selectOption('read');
  // A double click must create one key only.
  await page.getByRole('button', { name: 'Create a key' }).dblclick();
  await page.getByRole('button', { name: 'Copy the key' }).click();
  await page.getByText('The key is copied.').waitFor();
  const copied = async () => String(await page.evaluate('navigator.clipboard.readText()'));
  const created = await copied();
  const status = async () =>
    (await fetch(`${origin}/api/users`, { headers: { authorization: `Bearer ${created}` } })).status;
  t.equal(await status(), 200);
  await rowWith(page, 'import').waitFor();
  t.equal(await rowsOf(page).filter({ hasText: 'import' }).count(), 1);
  await page.getByRole('link', { name: 'import' }).click();
  page.once('dialog', question => question.accept());
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('The key "import" is revoked.').waitFor();
  t.equal(await status(), 401);

  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('link', { name: 'Audit' }).click();
  const entry = rowWith(page, 'key.revoke');
  await entry.getByText('Ada on call').waitFor();
  await entry.getByRole('button', { name: 'Copy the request id' }).click();
  await page.getByText('The request id is copied.').waitFor();
  t.match(await copied(), /^[\w-]{20,}$/);
  await entry.locator('[data-head="Record"] a').click();
  await page.getByRole('dialog', { name: 'import' }).waitFor();
});

t.test('a user is shown with identities, and a key with its user', async t => {
  const { id } = await makeUser(database, { name: 'Grace Hopper' });
  await addIdentity(inside(database), users, id, {
    issuer: 'https://login.example.com',
    subject: 'auth0|grace',
  });
  await makeKey(database, ['own'], { userId: id, name: 'phone' });
  const { page } = await visit('#users');
  await enterKey(page, key);
  await page.getByRole('link', { name: 'Grace Hopper' }).click();
  await page.getByRole('cell', { name: 'auth0|grace' }).waitFor();
  t.same(await accessibilityProblems(page), []);
  await page.getByRole('link', { name: 'What was done to this user' }).click();
  await rowWith(page, 'identity.create').waitFor();

  await page.getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('link', { name: 'phone' }).click();
  await page.getByRole('dialog').getByRole('link', { name: id }).click();
  await page.getByRole('heading', { name: 'Grace Hopper' }).waitFor();
});
