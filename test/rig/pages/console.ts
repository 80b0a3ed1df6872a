import type { Locator, Page } from 'playwright-core';

/** What somebody does in the console, and what they find there. */
export const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor();

export async function press(page: Page, ...keys: string[]) {
  for (const key of keys) await page.keyboard.press(key);
}

/** Enters a key in the dialog that asks for it, which must be open. */
export async function enterKey(page: Page, key: string) {
  await page.locator('dialog input').fill(key);
  await page.keyboard.press('Enter');
}

/** Adds a filter by the menu; `fillIn` fills in its form. */
export async function addFilter(page: Page, name: string, fillIn: (form: Locator) => Promise<unknown>) {
  await page.locator('#add-filter summary').click();
  await page.locator('.pop button', { hasText: new RegExp(`^${name}`) }).click();
  await fillIn(page.locator('.pop form'));
  await page.getByRole('button', { name: 'Show', exact: true }).click();
}

export const copied = async (page: Page) => String(await page.evaluate('navigator.clipboard.readText()'));

/** The ids of the rows of a list. */
export const idsOf = async (page: Page) =>
  (await page.evaluate('[...document.querySelectorAll("tbody tr")].map(row => row.dataset.id)')) as string[];
