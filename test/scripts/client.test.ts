import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSchema, getIntrospectionQuery, graphql } from 'graphql';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import type { Settings } from '../../schemas/settings.ts';
import { changeSubscriptions } from '../../src/services/subscriptions/changeSubscriptions.ts';
import { blocksOf } from '../docs/handbook.ts';
import { inside, makeKey } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { makeProject, problemsOf, resultOf, writeClient } from '../helper/clientProject.ts';
import { backend } from '../helper/database.ts';
import { statusEvent } from '../helper/webhooks.ts';

t.setTimeout(120_000);
const skip = backend === 'postgres' && 'the database makes no difference';

const folder = makeProject(t);
const api = join(folder, 'api');
await writeClient(t, api);
for (const { file, text } of blocksOf('docs/client.md').filter(({ file }) =>
  /^(tsconfig|graphql)/.test(file),
))
  writeFileSync(join(folder, file), text);
cpSync('test/clients', folder, { recursive: true });
const load = (file: string) => import(pathToFileURL(join(folder, file)).href);

/** A service and clients of it. */
async function start(t: Test, settings: Partial<Settings> = {}) {
  const { app, database, newUser, newPost } = await build(t, { settings });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const { createClient } = await load('api/client.ts');
  const clientOf = (key?: string) => createClient({ url, key });
  return { url, database, newUser, newPost, clientOf, client: clientOf() };
}

t.test(
  'the client compiles with all that it is used for here, and no mistake compiles',
  { skip },
  async t => {
    t.equal(await problemsOf(folder), '');
  },
);

t.test('every TypeScript sample of the document compiles', { skip }, async t => {
  const samples = Object.values<Record<string, { 'x-codeSamples': { lang: string; source: string }[] }>>(
    parse(readFileSync('openapi.yaml', 'utf8')).paths,
  ).flatMap(item => Object.values(item).flatMap(operation => operation['x-codeSamples']));
  const sources = samples.filter(({ lang }) => lang === 'TypeScript').map(({ source }) => source);
  t.ok(sources.length > 20, `${sources.length} samples`);
  const blocks = sources.map(source => `{\n${source}\nvoid [data, error];\n}`);
  const head = "import { createClient } from './api/client.ts';\nconst client = createClient({ url: '' });\n";
  writeFileSync(join(folder, 'samples.ts'), head + blocks.join('\n'));
  t.equal(await problemsOf(folder), '');
});

t.test('the client calls every operation of users, posts and subscriptions', async t => {
  const { users, posts, subscriptions } = await load('operations.ts');
  const { client, database } = await start(t);
  await posts(client, await users(client));
  const events = [statusEvent('active'), statusEvent('canceled', { provider: 'paddle' })];
  await changeSubscriptions(inside(database), events);
  await subscriptions(client);
});

t.test('it walks a list to its end, and throws the error of a page', async t => {
  const { titles, errorOfWalk } = await load('operations.ts');
  const { client, newUser, newPost } = await start(t);
  const { id: authorId } = await newUser();
  for (const title of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await newPost({ authorId, title });
  t.same(await titles(client), ['g', 'f', 'e', 'd', 'c', 'b', 'a']);
  const error = await errorOfWalk(client);
  t.match(error, {
    message: 'The input is not valid.',
    cause: { status: 400, details: [{ path: '/limit' }] },
  });
});

t.test('it sends its key, and the errors of access and of the rate limit have their types', async t => {
  const { refusals, limit } = await load('operations.ts');
  const required = await start(t, { AUTH_MODE: 'required' });
  const { key } = await makeKey(required.database, ['read']);
  t.same(await refusals(required.client, required.clientOf(key)), ['unauthenticated', 'write']);
  const limited = await start(t, { RATE_LIMIT_MAX: 3 });
  t.ok((await limit(limited.client)) > 0);
});

/** A server that answers every request so. Returns its origin. */
async function answering(t: Test, status: number, type: string, text: string): Promise<string> {
  const server = createServer((_, response) =>
    response.writeHead(status, { 'Content-Type': type }).end(text),
  );
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('a call throws when the answer is the page of a proxy: no type says what is in it', async t => {
  const { createClient } = await load('api/client.ts');
  const url = await answering(t, 502, 'text/html', '<h1>Bad Gateway</h1>');
  await t.rejects(createClient({ url }).GET('/api/users'), {
    message: `GET ${url}/api/users: the answer 502 is not from the service.`,
  });
});

t.test('the contract of a running service makes the same client', { skip }, async t => {
  const { url, database } = await start(t, { AUTH_MODE: 'required' });
  const { key } = await makeKey(database, ['read']);
  const from = join(t.testdir(), 'from', 'service');
  const refused = await resultOf('scripts/client.ts', from, '--from', url);
  t.match(refused, {
    code: 1,
    output: /requires an API key with the scope read: pass one by --key or API_KEY/,
  });
  for (const address of [url, `${url}/`, `${url}/docs/json`])
    await writeClient(t, from, '--from', address, '--key', key);
  t.same(readdirSync(from), readdirSync(api));
  for (const file of ['client.ts', 'schema.graphql', 'graphql-env.d.ts'])
    t.equal(readFileSync(join(from, file), 'utf8'), readFileSync(join(api, file), 'utf8'), file);
  // Where credentials are required, the document says so; no type depends on it.
  t.equal(readFileSync(join(from, 'api.ts'), 'utf8'), readFileSync(join(api, 'api.ts'), 'utf8'));
});

t.test('written files are overwritten, and those of others never', { skip }, async t => {
  const own = t.testdir({ api: { 'client.ts': 'export const mine = true;\n' }, file: '' });
  const refused = await resultOf('scripts/client.ts', join(own, 'api'));
  t.match(refused, { code: 1, output: /client\.ts was not written by this command.*nothing was written/ });
  t.same(readdirSync(join(own, 'api')), ['client.ts']);
  t.equal(readFileSync(join(own, 'api', 'client.ts'), 'utf8'), 'export const mine = true;\n');

  const again = join(own, 'again');
  mkdirSync(again);
  await writeClient(t, again);
  writeFileSync(join(again, 'api.ts'), `${readFileSync(join(again, 'api.ts'), 'utf8').split('\n')[0]}\nold`);
  writeFileSync(join(again, 'other.ts'), 'kept');
  t.match(await writeClient(t, again), /api\.ts {2}\d+\.\d kB/);
  t.equal(readFileSync(join(again, 'api.ts'), 'utf8'), readFileSync(join(api, 'api.ts'), 'utf8'));
  t.equal(readFileSync(join(again, 'other.ts'), 'utf8'), 'kept');
  for (const name of readdirSync(api))
    t.match(readFileSync(join(api, name), 'utf8'), /^(\/\/|#) Written by `npm run client`/, name);
});

t.test('it says what is wrong with its input, in one line', { skip }, async t => {
  const here = t.testdir({ file: '' });
  const { data } = await graphql({
    schema: buildSchema('type Query { a: Int }'),
    source: getIntrospectionQuery(),
  });
  const contract = (paths: object, schemas: object = {}) => {
    const document = { data, openapi: '3.1.0', info: {}, paths, components: { schemas } };
    return answering(t, 200, 'application/json', JSON.stringify(document));
  };
  const schema = (target: string) =>
    contract({
      '/a': {
        get: { responses: { 200: { content: { 'application/json': { schema: { $ref: target } } } } } },
      },
    });
  const [page, empty, none, other, gone] = await Promise.all([
    answering(t, 200, 'text/html', '<p>Hello</p>'),
    answering(t, 200, 'application/json', '{}'),
    answering(t, 200, 'application/json', 'null'),
    answering(t, 200, 'application/json', '{"openapi":"3.1.0","paths":{}}'),
    answering(t, 404, 'text/plain', 'Not Found'),
  ]);
  const wrong: [string[], RegExp][] = [
    [[], /^Name the folder of the client\. See --help\.$/],
    [['', '--from', page], /^Name the folder/],
    [['a', 'b'], /^Unexpected argument 'b'/],
    [[join(here, 'file')], /file is not a folder\.$/],
    [[here, '--from', '127.0.0.1:3000'], /^--from is not a URL: 127\.0\.0\.1:3000\. See --help\.$/],
    [[here, '--from', 'http://127.0.0.1:2'], /ECONNREFUSED.*Is the service running\?$/],
    [[here, '--from', page], /\/docs\/json did not answer with JSON\. Is it this service\?$/],
    [[here, '--from', empty], /\/docs\/json is not an OpenAPI document\.$/],
    [[here, '--from', none], /\/docs\/json is not an OpenAPI document\.$/],
    [[here, '--from', other], /\/api\/graphql does not show its schema\.$/],
    [
      [here, '--from', await schema('/etc/passwd#/x')],
      /^The OpenAPI document refers to another one: \/etc\/passwd#\/x$/,
    ],
    [
      [here, '--from', await contract({}, { A: { discriminator: { mapping: { a: '/etc/passwd' } } } })],
      /^The OpenAPI document refers to another one: \/etc\/passwd$/,
    ],
    [
      [here, '--from', await contract({ '/a\x1b[2J': {} })],
      /^The OpenAPI document has a name that cannot be printed: \/a\ufffd\[2J$/,
    ],
    [
      [here, '--from', await schema('#/components/schemas/None')],
      /The service has no contract that can be used: Can't resolve \$ref/,
    ],
    [[here, '--from', await contract({ '/a': null })], /The service has no contract that can be used: /],
    [[here, '--from', gone], /\/docs\/json answered 404\. Is it this service\?$/],
  ];
  for (const [args, expected] of wrong) {
    const { code, output } = await resultOf('scripts/client.ts', ...args);
    t.equal(code, 1, `${args}`);
    t.match(output.trimEnd(), expected);
  }
  t.same(readdirSync(here), ['file'], 'nothing is written');
  t.match(await resultOf('scripts/client.ts', '--help'), { code: 0, output: /^npm run client -- <folder>/ });
});
