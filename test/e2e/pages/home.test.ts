// runs: long
import t from 'tap';
import { build } from '#test/helper/app.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';
import { inBothLooks, openBrowser, openPage } from '#test/rig/pages/browser.ts';
import { copied } from '#test/rig/pages/console.ts';

const { app, newUser, deliver, database } = await buildReceiver(t);
const origin = await app.listen({ port: 0, host: '127.0.0.1' });
const browser = await openBrowser(t);
const permissions = ['clipboard-read', 'clipboard-write'];

t.test('what comes in is said at its door, and counted, light and dark', async t => {
  const open = (options: object) => openPage(browser, origin, options);
  await inBothLooks(t, open, async (page, check, { colorScheme }) => {
    const users = page.locator('.floor a[data-plural=users] b');
    // The stream of changes begins after the page is there.
    const following = page.waitForResponse(`${origin}/api/changes`);
    await page.goto(origin);
    await following;
    await check('before anything came in');
    const before = Number(await users.innerText());
    const name = `Ada of the ${colorScheme} look`;
    await newUser({ name });
    await page.locator('#rest', { hasText: `It works: ${name} came in just now` }).waitFor();
    await page.locator('.floor a', { hasText: `${before + 1} just now users` }).waitFor();
    await deliver(paymentEvent({ id: `evt_${colorScheme}`, customer: `cus_${colorScheme}` }));
    await page.locator('#webhooks', { hasText: `It works: cus_${colorScheme} is active` }).waitFor();
    await check('after it');
  });
});

t.test('the name of a record is text, however it looks', async t => {
  const { page, errors } = await openPage(browser, origin);
  const following = page.waitForResponse(`${origin}/api/changes`);
  await page.goto(origin);
  await following;
  const name = '<img src=x onerror=alert(1)>';
  await newUser({ name });
  await page.locator('#rest', { hasText: `It works: ${name} came in` }).waitFor();
  t.equal(await page.locator('#rest img').count(), 0);
  t.same(errors, []);
});

t.test('an example is copied, and the query opens in GraphiQL', async t => {
  const { page, errors } = await openPage(browser, origin, { permissions });
  await page.goto(origin);
  await page.getByRole('button', { name: 'Copy the query' }).click();
  await page.getByText('Copied.').waitFor();
  const query = await copied(page);
  t.match(query, 'usersCount');
  const before = await page.goto(`${origin}/api/graphql`);
  t.equal(before?.status(), 200);
  await page.waitForSelector('.graphiql-execute-button');
  await page.goto(origin);
  await page.getByRole('link', { name: 'Open it in GraphiQL' }).click();
  await page.waitForSelector('.graphiql-tab-active:has-text("<untitled>")');
  await page.click('.graphiql-execute-button');
  await page.waitForSelector('.result-window :text("usersCount")');
  const lines = await page.locator('.graphiql-query-editor .CodeMirror-line').allInnerTexts();
  t.equal(lines.join('\n').trim(), query, 'also for who was there before');
  t.same(errors, []);
});

t.test('the colours that somebody chooses stay, also in the console', async t => {
  const { page } = await openPage(browser, origin, { colorScheme: 'light' });
  const scheme = () => page.evaluate('getComputedStyle(document.documentElement).colorScheme');
  await page.goto(origin);
  await page.getByTitle('Dark').click();
  t.match(await scheme(), /dark/);
  await page.goto(`${origin}/console`);
  await page.locator('.theme').waitFor();
  t.match(await scheme(), /dark/);
  t.ok(await page.getByLabel('Dark').isChecked());
});

t.test('the page waits for a database that is away, and says when the service is gone', async t => {
  let isThere = false;
  const away = await build(t, { database: { ...database, available: () => isThere } });
  const origin = await away.app.listen({ port: 0, host: '127.0.0.1' });
  const { page } = await openPage(browser, origin);
  await page.goto(origin);
  await page.getByText('waits for its database').waitFor();
  isThere = true;
  await page.locator('.floor a[data-plural=users]').waitFor();
  await page.locator('.badge', { hasText: 'ready' }).waitFor();
  await away.app.close();
  await page.locator('.badge', { hasText: 'no connection' }).waitFor();
});

t.test('without the right to read, the page asks for nothing but itself', async t => {
  const { app } = await build(t, { settings: { AUTH_MODE: 'required' } });
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  await inBothLooks(
    t,
    options => openPage(browser, origin, options),
    async (page, check) => {
      const asked: string[] = [];
      page.on('request', request => asked.push(new URL(request.url()).pathname));
      await page.goto(origin);
      await page.locator('.theme').waitFor();
      await page.getByText('npm run -s keys -- create').waitFor();
      await check();
      t.same(
        asked.filter(path => !path.startsWith('/home/')),
        ['/'],
      );
    },
  );
});
