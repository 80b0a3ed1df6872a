// runs: long
import type { Page } from 'playwright-core';
import t from 'tap';
import type { Scope } from '#schemas/service/apiKey.ts';
import { bearer, makeKey, makeUser } from '#test/helper/access.ts';
import { makeRecord } from '#test/helper/resources/records.ts';
import { accessibilityProblems, rowWith } from '#test/rig/pages/browser.ts';
import { enterKey, heading } from '#test/rig/pages/console.ts';
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
const logs = /^(Overview|Events|Customers|Keys|Audit log)/;
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

t.test('with `write` records are made, changed and deleted, and no logs are offered', async t => {
  const { page } = await visitWith('#/specimens', ['write']);
  await linkNew(page).click();
  await page.locator('#f-label').fill('A rib');
  await page.locator('#f-burrowId').fill(den.id);
  await page.keyboard.press('Control+Enter');
  await heading(page, 'A rib');
  await page.locator('#f-bones').fill('3');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Saved.').waitFor();
  const path = `/api/specimens/${page.url().split('/').at(-1)}`;
  t.match((await asAdmin('GET', path, 200)).body, { label: 'A rib', bones: 3 });
  await remove(page).click();
  await page.getByRole('button', { name: 'Delete 1 specimen' }).click();
  await page.getByText('Deleted: A rib.').waitFor();
  await asAdmin('GET', path, 404);
  const offered = await side(page).allInnerTexts();
  t.same(
    offered.filter(text => logs.test(text) && !text.startsWith('Customers')),
    [],
  );
  for (const address of ['webhook-events', 'keys', 'audit']) await refuses(page, address, 'write');
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
