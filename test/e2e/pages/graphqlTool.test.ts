import t from 'tap';
import { build } from '../../helper/app.ts';
import { fill } from '../../helper/graphql.ts';
import { openBrowser, openPage } from '../../rig/browser.ts';
import { until } from '../../rig/process.ts';

t.test('the tool runs its first query in Chromium, light and dark, within its security policy', async t => {
  const { app, database } = await build(t);
  await fill(database, 2, 2);
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const browser = await openBrowser(t);
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, errors } = await openPage(browser, origin, { colorScheme });
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
    t.same(errors, []);
  }
});

t.test('bug: Run right after an edit sent the old name of the operation', async t => {
  const { app } = await build(t);
  const page = await (await openBrowser(t)).newPage();
  const sent: { operationName?: string }[] = [];
  page.on('request', request => {
    const body = request.postDataJSON();
    if (body && body.operationName !== 'IntrospectionQuery') sent.push(body);
  });
  await page.goto(`${await app.listen({ port: 0, host: '127.0.0.1' })}/api/graphql`);
  const run = async (text: string) => {
    await page.click('.graphiql-query-editor .CodeMirror-lines');
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
    await page.keyboard.press('Control+Enter');
  };
  const knownName = () => page.evaluate(() => localStorage.getItem('graphiql:operationName'));
  const toolKnows = (name: string) =>
    until(`the tool knows ${name}`, async () => (await knownName()) === name);
  const answered = (field: string) => page.waitForSelector(`.result-window :text('"${field}"')`);

  await toolKnows('FirstLook');
  await run('query A { first: usersCount }');
  await answered('first');
  await toolKnows('A');
  await run('query B { second: usersCount }');
  await answered('second');
  await toolKnows('B');
  await run('query A { third: usersCount } query B { fourth: usersCount }');
  await answered('fourth');
  t.equal(sent.length, 3);
  t.equal(sent.at(-1)?.operationName, 'B', 'a name that the text contains is kept');
});
