// runs: long
import type { Page } from 'playwright-core';
import t from 'tap';
import { command } from '#test/docs/handbook.ts';
import { makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { accessibilityProblems, inBothLooks, openBrowser, openPage } from '#test/rig/pages/browser.ts';
import { until } from '#test/rig/process.ts';
import { specimen } from '#test/world/specimens.ts';

const operation = (page: Page, id: string) => page.locator(`[id$="-${id}"]`);
const { app, call, make } = await build(t);
const origin = await app.listen({ port: 0, host: '127.0.0.1' });
const browser = await openBrowser(t);

t.test('the pages are for everybody: light and dark, on a screen and on a phone', async t => {
  const open = openPage.bind(undefined, browser, origin);
  await inBothLooks(t, open, async (page, check, { colorScheme }) => {
    await page.goto(`${origin}/docs#/Users/updateUser`);
    const opened = operation(page, 'updateUser');
    await opened.getByText('Needs the scope write or own.').waitFor();
    const shared = opened.getByText('Errors: ');
    t.match(await shared.innerText(), /Errors: 400, 401, 403, 404/);
    const text = 'The request did not arrive in time.';
    t.notOk(await opened.getByText(text, { exact: true }).isVisible(), 'they are one line');
    for (const summary of await opened.locator('summary:visible').all()) await summary.click();
    await opened.getByText(text, { exact: true }).waitFor();
    await check();
    const colour = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    t.equal(colour === 'rgb(246, 247, 249)', colorScheme === 'light', String(colour));
  });
});

const permissions = ['clipboard-read', 'clipboard-write'];
const { page } = await openPage(browser, origin, { permissions });
await page.goto(`${origin}/docs`);
/** Shows an operation, or hides it again. */
const click = (id: string) => operation(page, id).locator('.opblock-summary-control').click();

t.test('a request is tried at once, and the code of another is copied and works', async t => {
  await page.getByLabel('Filter operations').fill('users');
  await page.locator('.opblock-summary-path', { hasText: 'audit' }).first().waitFor({ state: 'detached' });

  await click('createUser');
  await operation(page, 'createUser').getByRole('button', { name: 'Execute' }).click();
  await operation(page, 'createUser').locator('.live-responses-table', { hasText: '201' }).waitFor();
  t.equal((await call('GET', '/api/users', 200)).body.meta.total, 1);
  t.match(page.url(), '#/Users/createUser', 'the operation has a link of its own');

  await click('listUsers');
  await operation(page, 'listUsers').getByText('Code samples').click();
  await page.getByRole('button', { name: 'Copy curl' }).first().click();
  let copied = '';
  await until('the code is copied', async () => {
    copied = String(await page.evaluate('navigator.clipboard.readText()'));
    return copied.startsWith('curl');
  });
  t.match((await command(copied)).output, '"name":"Ada Lovelace"');
  await page.getByLabel('Filter operations').fill('');
});

t.test('operators can be filled in, and select what they say', async t => {
  for (const label of ['Notes', 'Other notes', 'Nothing']) await make(specimen, { label, remark: null });
  await click('listSpecimens');
  const opened = operation(page, 'listSpecimens');
  const parameter = (name: string) => opened.locator(`tr[data-param-name="${name}"]`);
  await parameter('grade[in]').locator('select').selectOption(['fair', 'fine']);
  await parameter('label[startsWith]').locator('input').fill('No');
  await parameter('q').locator('input').fill('notes');
  await opened.getByRole('button', { name: 'Execute' }).click();
  const answer = opened.locator('.live-responses-table', { hasText: '"data": [' });
  await answer.waitFor();
  t.match(await answer.innerText(), /"total": 1\b/);
  t.match(await answer.innerText(), /"label": "Notes"/);
  t.match(await opened.locator('.request-url').innerText(), /grade\[in\]|grade%5Bin%5D/);
});

t.test('a stream, which does not end, has code samples and no button', async t => {
  await click('followChanges');
  const stream = operation(page, 'followChanges');
  await stream.getByText('Code samples').click();
  await stream.getByText('curl').first().waitFor();
  t.equal(await stream.getByRole('button', { name: 'Execute' }).count(), 0);
});

t.test('the key is kept only in memory', async t => {
  const { app, database } = await build(t, { settings: { AUTH_MODE: 'required' } });
  const { key } = await makeKey(database, ['read']);
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const { page } = await openPage(browser, origin);
  await page.goto(`${origin}/docs`);
  await operation(page, 'listUsers').waitFor();
  const answered = (status: number) =>
    operation(page, 'listUsers')
      .locator('.live-responses-table', { hasText: `${status}` })
      .waitFor();
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByText('This page keeps the key only in memory.').waitFor();
  t.same(await accessibilityProblems(page), []);
  await page.locator('.auth-container input').fill(key);
  await page.locator('.auth-container button[type=submit]').click();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await operation(page, 'listUsers').locator('.opblock-summary-control').click();
  await operation(page, 'listUsers').getByRole('button', { name: 'Execute' }).click();
  await answered(200);
  t.same(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]'), [0, 0, '']);
  await page.reload();
  await operation(page, 'listUsers').getByRole('button', { name: 'Execute' }).click();
  await answered(401);
});
