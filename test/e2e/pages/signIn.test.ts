// runs: long, patient
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { blocksOf, copyProject, missingPackage, succeeds } from '#test/docs/handbook.ts';
import { createPostgres } from '#test/helper/database.ts';
import { ask } from '#test/rig/cluster/ask.ts';
import { inBothLooks, openBrowser, openPage } from '#test/rig/pages/browser.ts';
import { makeDataFolder, runCommand, startService, until } from '#test/rig/process.ts';
import { freePorts } from '#test/rig/servers/ports.ts';

const missing = await missingPackage('better-auth');
const skip = !process.env.CI && missing;
const [apiPort, sitePort] = await freePorts(2);
const [api, site] = [`http://127.0.0.1:${apiPort}`, `http://127.0.0.1:${sitePort}`];

const folder = copyProject();
const login = `${folder}-login`;
t.teardown(() => {
  for (const made of [folder, login]) rmSync(made, { recursive: true, force: true });
});
/** The commands of a page write its files, so the ports of this test are put into the pages of the copy. */
for (const page of ['docs/sign-in.md', 'docs/changes.md']) {
  const text = readFileSync(join(folder, page), 'utf8').replaceAll('../login', login);
  const moved = text.replaceAll(/\b3000\b/g, `${apiPort}`).replaceAll(/\b4000\b/g, `${sitePort}`);
  writeFileSync(join(folder, page), moved);
}
const blocks = blocksOf(join(folder, 'docs/sign-in.md'), '1. A login');
const settings = parseEnv(blocks.find(({ file }) => file === '.env')?.text ?? '') as Record<string, string>;

const script = join(folder, 'src/main.ts');
const startApi = (t: Test, env: Record<string, string>) =>
  startService(t, { ...settings, PORT: `${apiPort}`, ...env }, { script });

/** Starts the login as `npm start` does, and waits until it listens. */
async function startLogin(t: Test, env: Record<string, string> = {}) {
  const { scripts } = JSON.parse(readFileSync(join(login, 'package.json'), 'utf8'));
  const PATH = [join(login, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  const child = spawn('sh', ['-c', `exec ${scripts.start}`], { cwd: login, env: { PATH, ...env } });
  const closed = once(child, 'close');
  const stop = async () => {
    child.kill('SIGKILL');
    await closed;
  };
  t.teardown(stop);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (printed += data));
  await until(
    () => `the login listens. It has printed:\n${printed}`,
    () => printed.includes(`Log in at ${site}`),
    60,
  );
  return stop;
}

t.test('the commands of docs/sign-in.md add notes and install a login', { skip }, async t => {
  if (missing) return t.fail(missing);
  const [make = '', ...lines] = blocks[0]?.text.trimEnd().split('\n') ?? [];
  t.match(lines.pop(), /^npm start --prefix /);
  await Promise.all([make, ['set -e', ...lines].join('\n')].map(line => succeeds(t, line, folder)));
  const secret = readFileSync(join(login, '.env'), 'utf8');
  t.match(secret, /^BETTER_AUTH_SECRET=[0-9a-f]{64}\n$/);
  await succeeds(t, lines.slice(0, -1).join('\n'), folder);
  t.equal(readFileSync(join(login, '.env'), 'utf8'), secret, 'who runs them again keeps the secret');
});

const password = 'correct horse';
/** Fills in one of the forms of the page, and sends it. */
async function send(page: Page, form: string, fields: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(fields))
    await page.locator(`#${form} [name=${name}]`).fill(value);
  await page.locator(`#${form} button`).click();
}
/** Waits until the page has the user of whoever signed in, and returns the id. */
const signedIn = async (page: Page) => {
  const answer = await page.waitForResponse(
    answer => answer.url() === `${api}/api/me` && ['200', '201'].includes(`${answer.status()}`),
  );
  return (await answer.json()).id as string;
};
async function sign(page: Page, form: string, fields: Record<string, string>): Promise<string> {
  const [id] = await Promise.all([signedIn(page), send(page, form, { password, ...fields })]);
  return id;
}
const ada = { name: 'Ada', email: 'ada@example.com' };
const alan = { name: 'Alan', email: 'alan@example.com' };
const noteWith = (page: Page, text: string) => page.locator('#notes li', { hasText: text });
const says = (page: Page, text: string) => page.locator('#problem', { hasText: text }).waitFor();

t.test('people register, write what is theirs, and see what others write', { skip }, async t => {
  if (missing) return t.fail(missing);
  const DATA_DIR = makeDataFolder(t);
  const service = await startApi(t, { DATA_DIR });
  await startLogin(t);
  for (const request of [{ headers: { host: 'bad host%' } }, { method: 'TRACE' }])
    t.match(await ask(`${site}/api/auth/ok`, request), { status: 400 }, 'a broken request ends nothing');
  const browser = await openBrowser(t);
  const open = async () => {
    const { page } = await openPage(browser, site);
    await page.goto(site);
    return page;
  };
  const [hers, his] = await Promise.all([open(), open()]);
  const id = await sign(hers, 'sign-up', ada);
  await send(hers, 'write', { text: 'The engine <b>weaves</b>' });
  await noteWith(hers, 'Ada: The engine <b>weaves</b>').waitFor();

  await send(his, 'sign-up', { ...alan, email: ada.email, password });
  await says(his, 'already exists');
  t.not(await sign(his, 'sign-up', alan), id);
  await noteWith(his, 'Ada: The engine').waitFor();
  t.equal(await noteWith(his, 'Ada:').getByRole('button').count(), 0, 'a button for their own only');
  await hers.evaluate('window.isSame = true');
  await send(his, 'write', { text: 'Can it think?' });
  await noteWith(hers, 'Alan: Can it think?').waitFor();

  const path = `${api}/api/notes/${await noteWith(hers, 'Alan:').getAttribute('id')}`;
  const { token } = (await hers.evaluate('fetch("/api/auth/token").then(each => each.json())')) as {
    token: string;
  };
  const refused = await fetch(path, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } });
  t.match(await refused.json(), { error: { status: 403, details: { code: 'not_yours' } } });
  await noteWith(his, 'Alan:').getByRole('button', { name: 'Delete' }).click();
  await noteWith(hers, 'Alan:').waitFor({ state: 'detached' });

  await service.kill();
  await startApi(t, { DATA_DIR });
  await send(his, 'write', { text: 'After a pause' });
  await noteWith(hers, 'Alan: After a pause').waitFor();
  t.equal(await hers.evaluate('window.isSame'), true, 'the page was not loaded again');

  await hers.getByRole('button', { name: 'Log out' }).click();
  await hers.getByRole('button', { name: 'Log in' }).waitFor();
  await send(hers, 'sign-in', { email: ada.email, password: 'wrong horse' });
  await says(hers, 'Invalid email or password');
  t.equal(await sign(hers, 'sign-in', { email: ada.email }), id, 'the same user the next time');

  let asked = false;
  await hers.route(`${api}/api/me`, route => {
    if (asked) return route.continue();
    asked = true;
    const json = { error: { status: 404, details: { code: 'no_person' } } };
    return route.fulfill({ status: 404, json, headers: { 'access-control-allow-origin': site } });
  });
  const [again] = await Promise.all([signedIn(hers), hers.reload()]);
  t.equal(again, id, 'the same user when another tab was faster');

  // The console reports each refusal, and the page asks another host: these are no errors here.
  const inLook = (look: object) => openPage(browser, site, look).then(({ page }) => ({ page, errors: [] }));
  await inBothLooks(t, inLook, async (page, check) => {
    await page.goto(site);
    await send(page, 'sign-in', { email: ada.email, password: 'wrong horse' });
    await says(page, 'Invalid');
    await check('logged out');
    await sign(page, 'sign-in', { email: ada.email });
    await noteWith(page, 'Alan:').waitFor();
    await check('logged in');
  });
});

t.test('with DATABASE_URL the login has a schema of its own', { skip }, async t => {
  if (missing) return t.fail(missing);
  const url = await createPostgres(t, { empty: true });
  await startApi(t, { DATABASE_URL: url });
  const sql = postgres(url, { max: 1 });
  t.teardown(() => sql.end());
  const tables = async () => {
    const rows = await sql`
      select table_schema as schema, table_name as name from information_schema.tables
      where table_schema !~ '^(pg_|information_schema)' order by 1, 2`;
    return rows.map(({ schema, name }) => `${schema}.${name}`);
  };
  const before = await tables();
  const stop = await startLogin(t, { DATABASE_URL: url });
  const made = ['account', 'jwks', 'session', 'user', 'verification'].map(name => `login.${name}`);
  t.same(await tables(), [...before, ...made].sort(), 'no table elsewhere');
  t.match(await runCommand(join(folder, 'scripts/migrate.ts'), [], { DATABASE_URL: url }), { code: 0 });

  const json = { 'content-type': 'application/json' };
  const post = (url: string, body: object, headers: object) =>
    fetch(url, { method: 'POST', body: JSON.stringify(body), headers: { ...json, ...headers } });
  const { headers } = await post(`${site}/api/auth/sign-up/email`, { ...ada, password }, { origin: site });
  const cookie = headers
    .getSetCookie()
    .map(each => each.split(';')[0])
    .join('; ');
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`;
  const asked = () => fetch(`${site}/api/auth/get-session`, { headers: { cookie } });
  await until('the login goes on after its connections broke', async () => (await asked()).ok);
  await stop();
  await startLogin(t, { DATABASE_URL: url });
  const answer = await fetch(`${site}/api/auth/token`, { headers: { cookie } });
  const { token } = (await answer.json()) as { token: string };
  const { status } = await post(`${api}/api/me`, ada, { authorization: `Bearer ${token}` });
  t.equal(status, 201, 'a session outlives the process');
});
