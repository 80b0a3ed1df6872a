import { join } from 'node:path';
import { chromium } from 'playwright-core';
import t from 'tap';
import { build } from '../helper/app.ts';
import { folderOf } from '../helper/cluster.ts';
import { fill } from '../helper/graphql.ts';

const executablePath = join(folderOf('chromium') ?? '', 'chromium');
const args =
  '--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update --disable-sync';

t.test('the tool runs its first query in Chromium, light and dark, and breaks no policy', async t => {
  const { app, database } = await build(t);
  await fill(database, 2, 2);
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const browser = await chromium.launch({ executablePath, args: args.split(' ') });
  t.teardown(() => browser.close());
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ colorScheme });
    const complaints: string[] = [];
    page.on('console', message => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', error => complaints.push(error.message));
    page.on('request', request => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
        complaints.push(request.url());
    });
    await page.goto(`${origin}/api/graphql`);
    await page.click('.graphiql-execute-button');
    await page.waitForSelector('.result-window :text("Post 2 of 2")');
    const colour = await page.evaluate(
      'getComputedStyle(document.querySelector(".graphiql-container")).backgroundColor',
    );
    t.equal(
      /255, 255, 255|100%\)/.test(String(colour)),
      colorScheme === 'light',
      `${colorScheme}: ${colour}`,
    );
    t.same(complaints, []);
  }
});
