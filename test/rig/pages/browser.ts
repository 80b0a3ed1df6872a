import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { folderOf } from '#test/rig/openCluster.ts';

/** Chromium without windows needs half the CPU of the usual one. */
const program = ['chromium-headless-shell', 'chromium'].find(folderOf) ?? 'chromium';
const executablePath = join(folderOf(program) ?? '', program);
const args =
  '--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update --disable-sync';

const wide = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };

export async function openBrowser(t: Test) {
  const browser = await chromium.launch({ executablePath, args: args.split(' ') });
  t.teardown(() => browser.close());
  return browser;
}

/** Opens a page in its own profile; `errors` collects what its console reports and each request to another host. */
export async function openPage(
  browser: Awaited<ReturnType<typeof openBrowser>>,
  origin: string,
  options: BrowserContextOptions = {},
) {
  const page = await browser.newPage({ viewport: wide, ...options });
  // Swagger UI takes more than Playwright's 30 s on a machine that is busy with other tests.
  page.setDefaultTimeout(120_000);
  const errors: string[] = [];
  page.on('console', message => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', error => errors.push(error.message));
  page.on('request', request => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) errors.push(request.url());
  });
  return { page, errors };
}

const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns what axe finds on the page: the rule, and the elements that break it. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(await axe);
  const run = () =>
    page.evaluate(`axe.run().then(({ violations }) => violations.map(
      ({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target.join(' ')).join(', ')))`);
  // axe fails when an element, such as a hint, goes meanwhile; it then runs a second time.
  return (await run().catch(run)) as string[];
}

/**
 * Opens a page in light colours on a screen, and in dark ones on a phone. `check` asserts that axe finds no problem in
 * what is shown, and that nobody must scroll sideways to read it.
 */
export async function inBothLooks(
  t: Test,
  open: (options: BrowserContextOptions) => ReturnType<typeof openPage>,
  visit: (page: Page, check: (what?: string) => Promise<void>, look: (typeof looks)[number]) => Promise<void>,
) {
  for (const look of looks) {
    const { page, errors } = await open(look);
    const name = `${look.colorScheme}, ${look.viewport.width} pixels`;
    const check = async (what = '') => {
      t.same(await accessibilityProblems(page), [], `${what} ${name}`);
      const isTooWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
      t.notOk(await page.evaluate(isTooWide), `${what} ${name}`);
    };
    await visit(page, check, look);
    t.same(errors, [], name);
    await page.close();
  }
}
const looks = [
  { colorScheme: 'light', viewport: wide },
  { colorScheme: 'dark', viewport: phone },
] as const;

/** The rows of the table of a page. */
export const rowsOf = (page: Page) => page.locator('tbody tr');
export const rowWith = (page: Page, text: string) => rowsOf(page).filter({ hasText: text }).first();
