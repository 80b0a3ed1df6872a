import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient as overEvents } from 'graphql-sse';
import { createClient as overSocket } from 'graphql-ws';
import t from 'tap';
import { blocksOf } from '#test/docs/handbook.ts';
import { serve } from '#test/helper/servers/serve.ts';
import { openBrowser, openPage } from '#test/rig/pages/browser.ts';
import { call, makeDataFolder, makeFolder, startService, until } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';

const page = 'docs/changes.md';

t.test(
  'the examples of docs/changes.md keep a copy, and show changes, over a restart of the server',
  async t => {
    const folder = makeFolder(t);
    const { url: site } = await serve(t, ({ url = '' }, response) => {
      response.setHeader('content-type', url.endsWith('.js') ? 'text/javascript' : 'text/html');
      response.end(url === '/favicon.ico' ? '' : readFileSync(join(folder, url)));
    });
    const env = { DATA_DIR: makeDataFolder(t), PORT: String(await freePort()), CORS_ORIGINS: site };
    let service = await startService(t, env);
    const written = blocksOf(page).filter(({ file }) => file);
    t.equal(written.length, 3);
    for (const { file, text } of written)
      writeFileSync(join(folder, file), text.replaceAll('http://127.0.0.1:3000', service.url));
    let made = 0;
    const newUser = async () =>
      (await call(service, 'POST', '/api/users', { name: 'Ada', email: `g${++made}@example.com` })).body;
    const first = await newUser();

    const copy = spawn(process.execPath, ['copy.js'], { cwd: folder });
    t.teardown(() => copy.kill());
    let printed = '';
    for (const stream of [copy.stdout, copy.stderr]) stream.on('data', data => (printed += data));
    const shows = (users: number) =>
      until(
        () => `copy.js shows ${users} users. It has printed:\n${printed}`,
        () => printed.endsWith(`${users} users\n`),
        30,
      );
    const browser = await openPage(await openBrowser(t), site);
    await browser.page.goto(`${site}/page.html`);
    const { text = '' } = blocksOf(page, 'GraphQL').find(({ kind }) => kind === 'js') ?? {};
    const query = 'subscription ($after: String) { userChanged(after: $after) { cursor user { name } } }';
    const logged = text.replace(
      'request.variables',
      'names.push(data.userChanged.user?.name); request.variables',
    );
    const followed = [overEvents, overSocket].map(createClient => {
      const url = `${createClient === overSocket ? service.url.replace('http', 'ws') : service.url}/api/graphql`;
      const names: (string | undefined)[] = [];
      const run = new Function('createClient', 'url', 'query', 'names', `${logged}; return client;`);
      const client = run(createClient, url, query, names);
      return { client, names };
    });

    await shows(1);
    const second = await newUser();
    await shows(2);
    const renamed: string[] = [];
    const linesOfPage = async () =>
      (await browser.page.innerText('ul')).split(`user ${second.id}: change`).length;
    const rename = async () => {
      const before = await linesOfPage();
      const name = `Name ${renamed.length}`;
      await call(service, 'PATCH', `/api/users/${second.id}`, { name });
      renamed.push(name);
      return async () =>
        followed.every(({ names }) => names.at(-1) === name) && (await linesOfPage()) > before;
    };
    // A client shows nothing from before its connection, so the name changes until all show a change.
    await until('all show the newest', async () => {
      const isShown = await rename();
      await sleep(500);
      return isShown();
    });
    await service.kill('SIGTERM');
    // The pause is long enough for a first attempt that finds no server.
    await sleep(4000);
    service = await startService(t, env);
    await call(service, 'DELETE', `/api/users/${first.id}`);
    await shows(1);
    await newUser();
    await shows(2);
    await until('all show the newest again', await rename());
    for (const { client, names } of followed) {
      const told = names.filter(name => name?.startsWith('Name '));
      t.same(told, renamed.slice(-told.length));
      // The clients go before the service ends: one that looks for the service would not be disposed of.
      client.dispose();
    }
  },
);
