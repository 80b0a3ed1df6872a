import t from 'tap';
import { command } from '../../docs/handbook.ts';
import {
  accessibilityProblems,
  openBrowser,
  openPage,
  phone,
  scrollsSideways,
  wide,
} from '../../rig/pages/browser.ts';
import { startService } from '../../rig/process.ts';

t.test('each tab of first steps has commands that work', async t => {
  const secrets = '{"stripe":["whsec_of_this_test"]}';
  const { url } = await startService(t, { WEBHOOK_SECRETS: secrets });
  const { page, errors } = await openPage(await openBrowser(t), url);
  await page.goto(url);
  const steps = {
    REST: '"email":"ada@example.com"',
    GraphQL: '"name":"Ada Lovelace"',
    'A webhook': '"status":"active"',
  };
  for (const [door, expected] of Object.entries(steps)) {
    await page.getByText(door, { exact: true }).click();
    const commands = await page.locator('section:visible pre').innerText();
    const { code, output } = await command(`export WEBHOOK_SECRETS='${secrets}'\n${commands}`);
    t.equal(code, 0, door);
    t.match(output, expected);
  }
  t.same(errors, []);
});

t.test('the page is for everybody: dark, on a phone, by keyboard', async t => {
  const { url } = await startService(t, {});
  const browser = await openBrowser(t);
  for (const colorScheme of ['light', 'dark'] as const)
    for (const viewport of [wide, phone]) {
      const { page, errors } = await openPage(browser, url, { colorScheme, viewport });
      await page.goto(url);
      t.same(await accessibilityProblems(page), []);
      t.notOk(await scrollsSideways(page));
      await page.getByLabel('REST', { exact: true }).focus();
      await page.keyboard.press('ArrowRight');
      t.match(await page.locator('section:visible').innerText(), 'api/graphql');
      t.same(errors, []);
    }
});
