// runs: long
import type { Page } from 'playwright-core';
import t from 'tap';
import { serviceName } from '#schemas/name.ts';
import type { Scope } from '#schemas/service/apiKey.ts';
import { users } from '#src/domain/users.ts';
import { addIdentity } from '#src/people/identities.ts';
import { bearer, inside, makeKey, makeUser } from '#test/helper/access.ts';
import { makeRecord } from '#test/helper/resources/records.ts';
import { accessibilityProblems, rowsOf, rowWith } from '#test/rig/pages/browser.ts';
import { copied, enterKey, heading } from '#test/rig/pages/console.ts';
import { startOperated } from '#test/rig/pages/operated.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';
import { tending } from '#test/world/tendings.ts';
import { whisper } from '#test/world/whispers.ts';

const { call, database, key, origin, visit } = await startOperated(t, 'required');
const asAdmin: typeof call = (method, url, status, options) =>
  call(method, url, status, { ...options, headers: { ...options?.headers, ...bearer(key) } });
const den = await makeRecord(asAdmin, burrow, { label: 'Badger sett' });
const molar = await makeRecord(asAdmin, specimen, { label: 'A molar', burrowId: den.id });

const side = (page: Page) => page.locator('.side a');
const linkNew = (page: Page) => page.getByRole('link', { name: /^(New|Make the first) / });
const remove = (page: Page) => page.getByRole('button', { name: 'Delete' });
/** Opens a page with a new key of these scopes. */
async function visitWith(address: string, scopes: Scope[], more: { userId?: string } = {}) {
  const made = await makeKey(database, scopes, { name: `${scopes} only`, ...more });
  const opened = await visit(address);
  await enterKey(opened.page, made.key);
  return { ...opened, key: made };
}
const refuses = async (page: Page, address: string, scope: string) => {
  await page.goto(`${origin}/console#/${address}`);
  const alert = page.getByRole('alert');
  await alert.getByRole('heading', { name: 'There is nothing for you' }).waitFor();
  await alert.getByText(new RegExp(`^${scope} only has the scope .*\\b${scope}\\b`)).waitFor();
};

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
  await dialog.locator('#asked-name').fill('import');
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
  // By its element, because a closed dialog has no role while it is still in the page.
  await page.locator('dialog', { hasText: created }).waitFor({ state: 'detached' });
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

t.test('with `read` there is nothing that could be refused: members are text', async t => {
  const { page } = await visitWith('', ['read']);
  await heading(page, /\w/);
  t.notMatch(page.url(), 'overview', 'the first list is shown');
  await page.goto(`${origin}/console#/specimens`);
  await rowWith(page, 'A molar').waitFor();
  const offered = await side(page).allInnerTexts();
  t.ok(offered.some(text => text.startsWith('specimens')));
  t.same(
    offered.filter(text => /^(Overview|Events|Keys|Audit log)/.test(text)),
    [],
  );
  t.equal(await linkNew(page).count(), 0);
  await page.getByRole('link', { name: 'A molar' }).click();
  await heading(page, 'A molar');
  await page.locator('dl', { hasText: 'grade' }).getByRole('link', { name: 'Badger sett' }).waitFor();
  t.equal(await page.locator('main form').count(), 0);
  t.equal(await remove(page).count(), 0);
  t.equal(await page.getByRole('link', { name: 'Add one' }).count(), 0);
  t.same(await accessibilityProblems(page), []);
  for (const address of ['webhook-events', 'keys', 'audit', 'specimens/new'])
    await refuses(page, address, 'read');
  await page.goto(`${origin}/console#/subscriptions`);
  await rowWith(page, 'cus_ada').waitFor();
});

t.test('with `own` only what is theirs has a form, and what is private to others is not there', async t => {
  const [ada, grace] = [
    await makeUser(database, { name: 'Ada' }),
    await makeUser(database, { name: 'Grace' }),
  ];
  const tend = (userId: string) => makeRecord(asAdmin, tending, { burrowId: den.id, userId });
  const keep = (keeperId: string, words: string) => makeRecord(asAdmin, whisper, { keeperId, words });
  const [mine, theirs] = [await tend(ada.id), await tend(grace.id)];
  const [secret, hidden] = [await keep(ada.id, 'Mine alone'), await keep(grace.id, 'Not for Ada')];
  const { page } = await visitWith(`#/tendings/${theirs.id}`, ['own'], { userId: ada.id });
  const title = (record: { id: string }) => record.id.slice(-8);
  await heading(page, title(theirs));
  await page.locator('dl').getByRole('link', { name: 'Grace' }).waitFor();
  t.equal(await page.locator('main form').count(), 0);
  t.equal(await remove(page).count(), 0);
  await page.goto(`${origin}/console#/tendings/${mine.id}`);
  await page.locator('main form #f-burrowId').waitFor();
  await page.waitForFunction('document.querySelector("#f-userId").value === "Ada"');
  t.equal(await remove(page).count(), 1);
  await page.goto(`${origin}/console#/specimens/${molar.id}`);
  await heading(page, 'A molar');
  t.equal(await page.locator('main form').count(), 0, 'it belongs to nobody');

  await page.goto(`${origin}/console#/whispers`);
  await rowWith(page, 'Mine alone').waitFor();
  t.equal(await rowWith(page, 'Not for Ada').count(), 0);
  t.equal(await linkNew(page).count(), 1);
  await page.goto(`${origin}/console#/whispers/${hidden.id}`);
  await page.getByRole('alert').getByText('Whisper not found.').waitFor();
  await page.goto(`${origin}/console#/whispers/${secret.id}`);
  await page.locator('#f-words').fill('Mine, still');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Saved.').waitFor();
  await page.locator('#f-keeperId').fill(grace.id);
  await page.keyboard.press('Control+Enter');
  await page.getByText('That is not yours.').waitFor();
  t.match((await asAdmin('GET', `/api/whispers/${secret.id}`, 200)).body, { keeperId: ada.id });
  await refuses(page, 'keys', 'own');
});

t.test('what the service refuses meanwhile is said where one is, and nothing typed is lost', async t => {
  const { page, key: used } = await visitWith(`#/specimens/${molar.id}`, ['write']);
  await heading(page, 'A molar');
  t.equal(await remove(page).count(), 1);
  await database.writes.rows(`update api_keys set scopes = '{read}' where id = $1`, [used.id]);
  // A key that was read is trusted for 4 seconds.
  await page.waitForTimeout(4500);
  await page.locator('#f-remark').fill('Too late');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('alert').getByText('The scope "write" is missing.').waitFor();
  t.equal(await page.locator('#f-remark').inputValue(), 'Too late');
  await asAdmin('DELETE', `/api/keys/${used.id}`, 204);
  await page.keyboard.press('Control+Enter');
  await page.getByRole('heading', { name: 'The service refuses this key' }).waitFor();
  await enterKey(page, key);
  await page.getByRole('link', { name: 'Audit log', exact: true }).waitFor();
});
