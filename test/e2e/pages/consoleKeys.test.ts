import type { Page } from 'playwright-core';
import t from 'tap';
import { makeKey } from '../../helper/access.ts';
import { accessibilityProblems, rowsOf, rowWith } from '../../rig/pages/browser.ts';
import { startOperated } from '../../rig/pages/operated.ts';

/** Enters a key in the dialog, which must be open. */
async function enterKey(page: Page, key: string) {
  await page.locator('dialog input').fill(key);
  await page.keyboard.press('Enter');
}

t.test('a key is asked for in words, and is kept only in memory', async t => {
  const { database, key, visit } = await startOperated(t, 'required');
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
  await page.getByRole('button', { name: 'Forget the key' }).click();
  await page.getByRole('heading', { name: 'This service requires a key' }).waitFor();
  await enterKey(page, key);
  await rowWith(page, 'charge.dispute.created').waitFor();
  t.same(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]'), [0, 0, '']);
  t.notMatch(page.url(), 'triport_');
});

t.test('a key is created, shown once, works, is revoked, and the audit log says so', async t => {
  const { key, origin, visit } = await startOperated(t, 'required');
  const { page } = await visit('#keys');
  await enterKey(page, key);
  await page.getByLabel('Name').fill('import');
  await page.getByLabel('Scope').selectOption('read');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByText('The key is copied.').waitFor();
  const created = String(await page.evaluate('navigator.clipboard.readText()'));
  const status = async () =>
    (await fetch(`${origin}/api/users`, { headers: { authorization: `Bearer ${created}` } })).status;
  t.equal(await status(), 200);
  await page.getByRole('button', { name: 'Revoke import' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('The key "import" is revoked.').waitFor();
  t.equal(await status(), 401);
  await page.getByRole('link', { name: 'Audit' }).click();
  await rowWith(page, 'key.revoke').waitFor();
  await rowWith(page, 'Ada on call').waitFor();
});

t.test('a double click is one click', async t => {
  const { visit } = await startOperated(t, 'open');
  const { page } = await visit('#keys');
  await page.getByLabel('Name').fill('import');
  await page.getByRole('button', { name: 'Create a key' }).dblclick();
  await rowWith(page, 'import').waitFor();
  await page.reload();
  await rowWith(page, 'import').waitFor();
  t.equal(await rowsOf(page).filter({ hasText: 'import' }).count(), 1);
});
