import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSchema, getIntrospectionQuery, graphql } from 'graphql';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import type { Settings } from '../../schemas/settings.ts';
import { main } from '../../scripts/client.ts';
import { blocksOf, runBlocks, succeeds } from '../docs/handbook.ts';
import { makeKey } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { run } from '../helper/command.ts';
import { serve } from '../helper/servers/serve.ts';

const page = 'docs/client.md';

/** One project for the guide, the code of test/clients and the samples, which are compiled at once. */
const folder = mkdtempSync(join(tmpdir(), 'triport-client-'));
t.teardown(() => rmSync(folder, { recursive: true }));
symlinkSync(realpathSync('node_modules'), join(folder, 'node_modules'));
const api = join(folder, 'api');
async function writeClient(t: Test, ...args: string[]): Promise<void> {
  const { code, err } = await run(main, args);
  t.equal(code, 0, err);
}
await writeClient(t, api);
// Except what installs: the packages are there.
for (const line of blocksOf(page, 'Install').flatMap(({ kind, text }) =>
  kind ? [] : text.trim().split('\n'),
))
  if (/^(npm (init|pkg)|npx|node) /.test(line)) await succeeds(t, line, folder);
/** The files of the guide, one of which uses a function of another page, call the service at this origin. */
function writeGuide(origin: string): void {
  for (const { file, text } of [page, 'docs/safe-writes.md'].flatMap(each => blocksOf(each)))
    if (file) writeFileSync(join(folder, file), text.replaceAll('http://127.0.0.1:3000', origin));
}
cpSync('test/clients', folder, { recursive: true });
const load = (file: string) => import(pathToFileURL(join(folder, file)).href);

/** A service and clients of it. */
async function start(t: Test, settings: Partial<Settings> = {}) {
  const { app, database } = await build(t, { settings });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const { createClient } = await load('api/client.ts');
  const clientOf = (key?: string) => createClient({ url, key });
  return { url, database, clientOf, client: clientOf() };
}

/** Each TypeScript sample of the document, as a block. */
function samples(): string[] {
  const { paths } = parse(readFileSync('openapi.yaml', 'utf8'));
  const operations = Object.values<Record<string, Operation>>(paths).flatMap(item => Object.values(item));
  return operations
    .flatMap(operation => operation['x-codeSamples'])
    .filter(({ lang }) => lang === 'TypeScript')
    .map(({ source }) => `{\n${source}\nvoid [data, error];\n}`);
}
interface Operation {
  'x-codeSamples': { lang: string; source: string }[];
}

t.test('the guide, uses and the samples of the document compile strictly, and no mistake does', async t => {
  const { url } = await start(t);
  writeGuide(url);
  const blocks = samples();
  t.ok(blocks.length > 20, `${blocks.length} samples`);
  const head = "import { createClient } from './api/client.ts';\nconst client = createClient({ url: '' });\n";
  writeFileSync(join(folder, 'samples.ts'), head + blocks.join('\n'));
  await succeeds(t, 'npx tsc --pretty false', folder);
  await runBlocks(t, page, url, { folder });
});

t.test('it sends its key, and throws the error of a page of a list', async t => {
  const { refusals, errorOfWalk } = await load('refusals.ts');
  const { client, clientOf, database } = await start(t, { AUTH_MODE: 'required' });
  const reader = clientOf((await makeKey(database, ['read'])).key);
  t.same(await refusals(client, reader), ['unauthenticated', 'write']);
  t.match(await errorOfWalk(reader), {
    message: 'The input is not valid.',
    cause: { status: 400, details: [{ path: '/limit' }] },
  });
});

const answering = async (t: Test, status: number, type: string, text: string) =>
  (await serve(t, (_, response) => response.writeHead(status, { 'Content-Type': type }).end(text))).url;

t.test('a call throws when the answer is the page of a proxy: no type says what is in it', async t => {
  const { createClient } = await load('api/client.ts');
  const url = await answering(t, 502, 'text/html', '<h1>Bad Gateway</h1>');
  await t.rejects(createClient({ url }).GET('/api/users'), {
    message: `GET ${url}/api/users: the answer 502 is not from the service.`,
  });
});

t.test('the contract of a running service makes the same client', async t => {
  const { url, database } = await start(t, { AUTH_MODE: 'required' });
  const { key } = await makeKey(database, ['read']);
  const from = join(t.testdir(), 'from', 'service');
  const refused = await run(main, [from, '--from', url]);
  t.match(refused, { code: 1, err: /^401 .*Pass an API key by --key or API_KEY;.*\n$/ });
  await writeClient(t, from, '--from', `${url}/`, '--key', key);
  t.same(readdirSync(from), readdirSync(api));
  for (const file of readdirSync(api))
    t.equal(readFileSync(join(from, file), 'utf8'), readFileSync(join(api, file), 'utf8'), file);
});

t.test('its files are overwritten, and those of others never', async t => {
  const own = t.testdir({ mine: { 'client.ts': 'export const mine = true;\n' } });
  const mine = join(own, 'mine');
  const refused = await run(main, [mine]);
  t.match(refused, { code: 1, err: /client\.ts is not of this command\. Move it,.*\n$/ });
  t.same(readdirSync(mine), ['client.ts'], 'nothing is written');
  t.equal(readFileSync(join(mine, 'client.ts'), 'utf8'), 'export const mine = true;\n');

  const again = join(own, 'again');
  cpSync(api, again, { recursive: true });
  for (const file of readdirSync(again)) appendFileSync(join(again, file), 'old');
  writeFileSync(join(again, 'other.ts'), 'kept');
  await writeClient(t, again);
  for (const file of readdirSync(api))
    t.equal(readFileSync(join(again, file), 'utf8'), readFileSync(join(api, file), 'utf8'), file);
  t.equal(readFileSync(join(again, 'other.ts'), 'utf8'), 'kept');
});

t.test('it says what is wrong with its input, in one line', async t => {
  const here = t.testdir({ file: '' });
  const { data } = await graphql({
    schema: buildSchema('type Query { a: Int }'),
    source: getIntrospectionQuery(),
  });
  const foreign = { $ref: '/etc/passwd' };
  const contract = { data, openapi: '3.1.0', paths: {}, components: { schemas: { foreign } } };
  const [page, json, hostile] = await Promise.all([
    answering(t, 200, 'text/html', '<p>Hello</p>'),
    answering(t, 200, 'application/json', '{}'),
    answering(t, 200, 'application/json', JSON.stringify(contract)),
  ]);
  const wrong: [string[], RegExp][] = [
    [[], /^Name the folder of the client\. See --help\.\n$/],
    [[join(here, 'file')], /^.*'.*file'.*\n$/],
    [[here, '--from', '127.0.0.1:3000'], /^127\.0\.0\.1:3000: Invalid URL.*\n$/],
    [[here, '--from', 'http://127.0.0.1:2'], /^.*ECONNREFUSED.* Is the service running\?\n$/],
    [[here, '--from', page], /^.* is not this service\.\n$/],
    [[here, '--from', json], /^.* is not this service\.\n$/],
    [[here, '--from', hostile], /^The OpenAPI document refers to another one: \/etc\/passwd\n$/],
  ];
  for (const [args, expected] of wrong) {
    const { code, err } = await run(main, args);
    t.equal(code, 1, `${args}`);
    t.match(err, expected);
  }
  t.same(readdirSync(here), ['file'], 'nothing is written');
});
