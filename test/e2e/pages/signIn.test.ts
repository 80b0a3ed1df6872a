// runs: long
import t from 'tap';
import { blocksOf } from '#test/docs/handbook.ts';
import { openIssuer } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { serve } from '#test/helper/servers/serve.ts';
import { openBrowser, openPage } from '#test/rig/pages/browser.ts';

t.test('the browser example of docs/sign-in.md registers a person and writes what is theirs', async t => {
  const { url: page } = await serve(t, (_, response) => void response.end('<title>shop</title>'));
  const issuer = await openIssuer(t);
  const { app } = await build(t, { settings: { ...issuer.settings, CORS_ORIGINS: page } });
  const api = await app.listen({ port: 0, host: '127.0.0.1' });
  const token = await issuer.sign({ scope: 'own' });
  const [example] = blocksOf('docs/sign-in.md', '4. In a browser').filter(({ kind }) => kind === 'js');
  const given = `const apiUrl = '${api}'; const getToken = async () => '${token}';`;
  const script = `(async () => { ${given} ${example?.text} return { user, now: await api('GET', '/api/me') }; })()`;
  const opened = await openPage(await openBrowser(t), page);
  await opened.page.goto(page);
  const first = (await opened.page.evaluate(script)) as { user: { id: string }; now: object };
  t.match(first.now, { id: first.user.id, name: 'Grace Brewster Hopper', version: 2 });
  const again = (await opened.page.evaluate(script)) as typeof first;
  t.equal(again.user.id, first.user.id, 'the same user the next time');
});
