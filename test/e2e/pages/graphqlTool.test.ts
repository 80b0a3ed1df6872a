// runs: long
import type { Page } from 'playwright-core';
import t from 'tap';
import { makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { accessibilityProblems, inBothLooks, openBrowser, openPage } from '#test/rig/pages/browser.ts';
import { until } from '#test/rig/process.ts';
import { domain } from '#test/world/index.ts';

const { app, call, make } = await build(t);
const origin = await app.listen({ port: 0, host: '127.0.0.1' });
const browser = await openBrowser(t);
const { example } = domain;
/** The field that the first query asks for. */
const counted = `${(example.parentRelations[0]?.parent ?? example).plural}Count`;

/** Waits until the tool knows the operation; until then it sends what it runs in another way. */
const toolKnows = (page: Page, name: string) =>
  until(`the tool knows ${name}`, () =>
    page.evaluate(name => localStorage.getItem('graphiql:operationName') === name, name),
  );

t.test('the tool runs its first query, light and dark, on a screen and on a phone', async t => {
  const open = openPage.bind(undefined, browser, origin);
  await inBothLooks(t, open, async (page, check, { colorScheme }) => {
    await page.goto(`${origin}/api/graphql`);
    await page.click('.graphiql-execute-button');
    await page.waitForSelector(`.result-window :text("${counted}")`);
    const result = await page.locator('.result-window').boundingBox();
    t.ok(Number(result?.width) > 300, 'there is room to read the result');
    const colour = await page.evaluate(
      'getComputedStyle(document.querySelector(".graphiql-container")).backgroundColor',
    );
    t.equal(/255, 255, 255|100%\)/.test(String(colour)), colorScheme === 'light', String(colour));
    await check();
  });
});

t.test('the second tab creates a user', async t => {
  const { page } = await openPage(browser, origin);
  await page.goto(`${origin}/api/graphql`);
  await page.click(':text("CreateUser")');
  await page.click('.graphiql-execute-button');
  await page.waitForSelector('.result-window :text("Ada Lovelace")');
  t.equal((await call('GET', '/api/users?email=ada@example.com', 200)).body.meta.total, 1);
});

t.test('the third tab shows each change of a record, until it is stopped', async t => {
  const { page, errors } = await openPage(browser, origin);
  await page.goto(`${origin}/api/graphql`);
  await page.click(':text("Follow")');
  await toolKnows(page, 'Follow');
  await page.click('.graphiql-execute-button');
  await page.waitForSelector('[aria-label="Stop query (Ctrl-Enter)"]');
  const [member = ''] = Object.keys(example.contract.create.properties);
  /** Makes a record and returns what the tab selects of it. */
  const newValue = async () => String((await make(example))[member as 'id']);
  // Records are made until one is shown: the stream may not have begun when the first is made.
  const made: string[] = [];
  await until('a change is shown', async () => {
    made.push(await newValue());
    const shown = await page.innerText('.result-window');
    return made.some(each => shown.includes(each));
  });
  await page.waitForSelector(`.result-window :text("${await newValue()}")`);
  await page.click('[aria-label="Stop query (Ctrl-Enter)"]');
  await page.waitForSelector('[aria-label="Execute query (Ctrl-Enter)"]');
  t.same(errors, []);
  await page.close();
});

t.test('the tool asks for a key in words, keeps it only in memory, and then loads the schema', async t => {
  const { app, database } = await build(t, { settings: { AUTH_MODE: 'required' } });
  const { key } = await makeKey(database, ['read']);
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const { page } = await openPage(browser, origin);
  await page.goto(`${origin}/api/graphql`);
  await page.getByRole('heading', { name: 'This service requires a key' }).waitFor();
  t.same(await accessibilityProblems(page), []);
  await page.getByLabel('API key or token').fill('nonsense');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'The service refuses this key' }).waitFor();
  await page.getByLabel('API key or token').fill(key);
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.click('[aria-label="Show Documentation Explorer"]');
  await page.waitForSelector('.graphiql-doc-explorer :text("Mutation")');
  // The tool stores its tabs and its history, which would have the headers that are written beside a query.
  t.equal(await page.getByText('Headers', { exact: true }).count(), 0);
  await page.click('.graphiql-execute-button');
  await page.waitForSelector(`.result-window :text("${counted}")`);
  const stored =
    'JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])';
  await until('the tool stores its tabs', async () => /FirstLook/.test(String(await page.evaluate(stored))));
  t.notMatch(await page.evaluate(stored), key);
  await page.reload();
  await page.getByRole('heading', { name: 'This service requires a key' }).waitFor();
});

t.test('bug: Run right after an edit sent the old name of the operation', async t => {
  const { page } = await openPage(browser, origin);
  const sent: { operationName?: string }[] = [];
  page.on('request', request => {
    const body = request.postDataJSON();
    if (body && body.operationName !== 'IntrospectionQuery') sent.push(body);
  });
  await page.goto(`${origin}/api/graphql`);
  const run = async (text: string) => {
    await page.click('.graphiql-query-editor .CodeMirror-lines');
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
    await page.keyboard.press('Control+Enter');
  };
  const answered = (field: string) => page.waitForSelector(`.result-window :text('"${field}"')`);

  await toolKnows(page, 'FirstLook');
  await run('query A { first: usersCount }');
  await answered('first');
  await toolKnows(page, 'A');
  await run('query B { second: usersCount }');
  await answered('second');
  await toolKnows(page, 'B');
  await run('query A { third: usersCount } query B { fourth: usersCount }');
  await answered('fourth');
  t.equal(sent.length, 3);
  t.equal(sent.at(-1)?.operationName, 'B', 'a name that the text contains is kept');
});
