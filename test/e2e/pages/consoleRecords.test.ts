// runs: long
import type { Page } from 'playwright-core';
import t from 'tap';
import { rowsOf, rowWith } from '#test/rig/pages/browser.ts';
import { heading, press } from '#test/rig/pages/console.ts';
import { startOperated } from '#test/rig/pages/operated.ts';
import { burrow } from '#test/world/burrows.ts';
import { specimen } from '#test/world/specimens.ts';

const { call, make, newUser, origin, visit } = await startOperated(t, 'open');

const type = (page: Page, text: string) => page.keyboard.type(text);
const focused = (page: Page) => page.evaluate('document.activeElement.id');
/** Moves the focus to a field by the tab key alone. */
async function tabTo(page: Page, id: string) {
  for (let tabs = 0; tabs < 60; tabs++) {
    if ((await focused(page)) === id) return;
    // A group of words has one stop, and its boxes have no id.
    if (await page.evaluate(`document.activeElement.closest('[id="${id}"]') !== null`)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`No tab stop ${id}.`);
}
const recordAt = async (page: Page, path: string) => {
  await page.waitForURL(/\/[0-9a-f]{8}-[^/]+$/);
  return (await call('GET', `/api/${path}/${page.url().split('/').at(-1)}`, 200)).body;
};

t.test(
  'a record with every type of member is made, found, changed and deleted by keyboard alone',
  async t => {
    const den = await make(burrow, { label: 'Badger sett' });
    const { page, errors } = await visit('');
    await heading(page, 'Overview');
    await press(page, 'Control+k');
    await type(page, 'specimens');
    await page.getByRole('option', { name: 'specimens page' }).waitFor();
    await press(page, 'Enter');
    await heading(page, 'specimens');
    await page.getByText('There are no specimens yet.').waitFor();
    await press(page, 'n');
    await heading(page, 'New specimen');
    t.equal(await focused(page), 'f-label');
    await type(page, 'A molar');
    await tabTo(page, 'f-grade');
    await press(page, 'ArrowRight', 'ArrowRight');
    await tabTo(page, 'f-isWet');
    await press(page, 'ArrowLeft');
    for (const [id, text] of [
      ['f-bones', '12'],
      ['f-weight', '1.5'],
      ['f-cents', '9007199254740991'],
      ['f-finder', 'ada@example.com'],
      ['f-remark', 'Much worn'],
      ['f-foundAt', '2026-11-21 09:30'],
      ['f-foundOn', '2026-11-20'],
      ['f-extra', '{"colour": [1, null]}'],
      ['f-burrowId', 'Badger sett'],
    ] as const) {
      await tabTo(page, id);
      await press(page, 'Control+a');
      await type(page, text);
    }
    await page.getByRole('option', { name: 'Badger sett' }).waitFor();
    await press(page, 'Enter', 'Control+Enter');
    await heading(page, 'A molar');
    const made = await recordAt(page, 'specimens');
    t.match(made, {
      label: 'A molar',
      grade: 'fine',
      isWet: true,
      bones: 12,
      weight: 1.5,
      cents: Number.MAX_SAFE_INTEGER,
      finder: 'ada@example.com',
      remark: 'Much worn',
      foundAt: '2026-11-21T09:30:00.000Z',
      foundOn: '2026-11-20',
      extra: { colour: [1, null] },
      burrowId: den.id,
    });
    await page.getByRole('link', { name: 'Badger sett' }).waitFor();

    await tabTo(page, 'f-weight');
    await press(page, 'Control+a', 'Delete');
    await tabTo(page, 'f-isWet');
    await press(page, 'ArrowRight', 'Control+Enter');
    await page.getByText('Saved.').waitFor();
    t.match(await recordAt(page, 'specimens'), {
      ...made,
      weight: null,
      isWet: false,
      version: 2,
      updatedAt: String,
    });

    await press(page, 'Escape');
    await heading(page, 'specimens');
    await page.keyboard.press('j');
    await page.locator('tr[aria-selected="true"]').waitFor();
    await press(page, 'Enter');
    await heading(page, 'A molar');
    await page.getByRole('button', { name: 'Delete' }).focus();
    await press(page, 'Enter');
    await page.getByRole('dialog', { name: 'Delete the specimen A molar?' }).waitFor();
    await page.getByRole('button', { name: 'Delete 1 specimen' }).focus();
    await press(page, 'Enter');
    await page.getByText('Deleted: A molar.').waitFor();
    await call('GET', `/api/specimens/${made.id}`, 404);
    t.same(errors, []);
  },
);

t.test('a list is filtered, searched, sorted and paged by keyboard, and its address says so', async t => {
  const dens = [await make(burrow, { label: 'North den' }), await make(burrow, { label: 'South den' })];
  for (let bones = 0; bones < 60; bones++)
    await make(specimen, {
      label: `Rib ${bones}`,
      bones,
      grade: bones % 2 ? 'fine' : 'fair',
      remark: 'plain',
      burrowId: String(dens[bones % 2]?.id),
    });
  const { page, errors } = await visit('#/specimens');
  await page.getByText('1–25 of 60').waitFor();
  // The names of parents come last, and the keys with them.
  await rowsOf(page).filter({ hasText: 'den' }).first().waitFor();
  const addFilter = async (name: string) => {
    await press(page, 'f');
    const entry = page.locator('.pop button', { hasText: new RegExp(`^${name}`) });
    await entry.focus();
    await press(page, 'Enter');
  };
  await addFilter('bones');
  await type(page, '50');
  await press(page, 'Enter');
  await page.getByText('bones at least 50').waitFor();
  await page.getByText('10 of 60').waitFor();
  await addFilter('grade');
  await press(page, 'Tab', 'Space', 'Enter');
  await page.waitForURL(/grade%5Bin%5D=fair/);
  await page.getByText('5 of 60').waitFor();
  await addFilter('burrow');
  await type(page, 'South den');
  await page.getByRole('option', { name: 'South den' }).waitFor();
  await press(page, 'Enter', 'Tab', 'Enter');
  await page.getByText('burrow is one of South den').waitFor();
  await page.getByText('No specimen is like that.').waitFor();
  t.match(
    await page.locator('.asked code').innerText(),
    '/api/specimens?bones[gte]=50&grade[in]=fair&burrow[in]=',
  );
  await page.getByRole('button', { name: 'Clear' }).focus();
  await press(page, 'Enter');
  await page.getByText('1–25 of 60').waitFor();
  await press(page, '/');
  await type(page, 'rib 42');
  await rowWith(page, 'Rib 42').waitFor();
  await page.getByText('1 of 60').waitFor();
  t.ok(await page.evaluate(`document.activeElement.matches('[type="search"]')`), 'one types on');
  await press(page, 'Control+a', 'Delete');
  await page.getByText('1–25 of 60').waitFor();
  await page.getByRole('columnheader', { name: 'bones' }).getByRole('button').focus();
  await press(page, 'Enter');
  await page.waitForURL(/sort=bones/);
  await rowsOf(page).first().filter({ hasText: 'Rib 0' }).waitFor();
  await page.getByRole('button', { name: 'Next' }).focus();
  await press(page, 'Enter');
  await page.getByText('26–50 of 60').waitFor();
  await rowsOf(page).first().filter({ hasText: 'Rib 25' }).waitFor();
  t.match(page.url(), /sort=bones&page=2/);
  t.same(errors, []);
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
