import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { openBrowser, openPage } from './browser.ts';
import { heading } from './console.ts';
import { historyEnd, startWithHistory } from './history.ts';

// `npx node test/rig/pages/pictures.ts` makes the pictures of docs/images again, except those of other programs.

type Ids = Awaited<ReturnType<typeof startWithHistory>>['ids'];
interface Picture {
  colorScheme: 'light' | 'dark';
  viewport: { width: number; height: number };
  deviceScaleFactor?: number;
  path: (ids: Ids) => string;
  /** Waits until what is shown is drawn. */
  drawn: (page: Page) => Promise<unknown>;
}

const screen = { width: 1000, height: 680 };
const overview = {
  viewport: screen,
  path: () => '/console#/overview',
  drawn: (page: Page) => page.locator('.plot:nth-child(6)').waitFor(),
};
const reference = {
  viewport: screen,
  path: () => '/docs',
  drawn: async (page: Page) => {
    await page.locator('#operations-Invoices-listInvoices').waitFor();
    await page.evaluate('document.getElementById("operations-tag-Users").scrollIntoView()');
  },
};
const pictures: Record<string, Picture> = {
  'console-overview-light': { ...overview, colorScheme: 'light' },
  'console-overview-dark': { ...overview, colorScheme: 'dark' },
  'docs-light': { ...reference, colorScheme: 'light' },
  'docs-dark': { ...reference, colorScheme: 'dark' },
  'console-user-light': {
    colorScheme: 'light',
    viewport: screen,
    path: ({ user }) => `/console#/users/${user}`,
    drawn: async page => {
      await heading(page, 'Grace Brewster Hopper');
      await page.locator('.history li').first().waitFor();
    },
  },
  'console-event-dark': {
    colorScheme: 'dark',
    viewport: { width: 390, height: 760 },
    deviceScaleFactor: 1.5,
    path: ({ event }) => `/console#/webhook-events/${event}`,
    drawn: async page => {
      await heading(page, 'charge.dispute.created');
      await page.locator('pre').waitFor();
    },
  },
};

/** Takes each picture into the folder, and returns their names. */
export async function takePictures(t: Test, folder: string): Promise<string[]> {
  const { app, ids, now } = await startWithHistory(t);
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const browser = await openBrowser(t);
  for (const [name, { path, drawn, ...look }] of Object.entries(pictures)) {
    const { page, errors } = await openPage(browser, origin, look as BrowserContextOptions);
    await page.clock.install({ time: now() });
    await smoothOut(page);
    await page.goto(origin + path(ids));
    await drawn(page);
    await page.locator('.part:empty').first().waitFor({ state: 'detached' });
    await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
    t.same(errors, [], name);
    await page.close();
  }
  return Object.keys(pictures).map(name => `${name}.png`);
}

/** Hides of what machine, and how busy, the pictures are, and the requests by which they are taken. */
async function smoothOut(page: Page): Promise<void> {
  await page.route('**/api/overview', async route => {
    const response = await route.fetch();
    const { samples, database, ...others } = await response.json();
    const json = {
      ...others,
      instance: 'web-1:4711',
      startedAt: new Date(historyEnd - 3 * 3_600_000).toISOString(),
      database: { ...database, roundTripMs: 0.8 },
      samples: samples.slice(0, -1),
    };
    await route.fulfill({ response, json });
  });
  await page.route('**/*.css', async route => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll('system-ui', fonts) });
  });
}
/** The fonts of usual systems, before what a server has. */
const fonts = '"Inter", "Helvetica Neue", "Liberation Sans", system-ui';

if (import.meta.main) {
  // Tap's own 30 s are too few for a busy machine.
  t.setTimeout(300_000);
  const folder = join(import.meta.dirname, '../../../docs/images');
  t.test('the pictures are taken', async t => void (await takePictures(t, folder)));
}
