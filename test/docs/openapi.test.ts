import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import t from 'tap';
import { nameOf } from '../../plugins/docs/errorSchemas.ts';
import { components } from '../../schemas/common.ts';
import { statusOf } from '../../src/core/errors.ts';
import { recordResources } from '../../src/resources.ts';
import { build } from '../helper/app.ts';
import { type Operation, operationsIn } from '../helper/openapi.ts';

const { app, call } = await build(t);
const { body: document } = await call('GET', '/docs/json', 200);
const operations = operationsIn(document);
type Parameter = Record<'name' | 'in', string> & { description?: string; required?: boolean; $ref?: string };
const parametersOf = ({ parameters = [] }: Operation) =>
  (parameters as Parameter[]).map(
    given => document.components.parameters[given.$ref?.split('/').at(-1) ?? ''] ?? given,
  ) as Parameter[];

/** The names of some schemas of each resource. */
const namesOf = (...schemas: ('record' | 'create' | 'replace' | 'update')[]) =>
  recordResources.flatMap(({ contract }) => schemas.map(schema => contract[schema].$id ?? ''));

/** Every object of the document with its JSON pointer. */
function* parts(value: unknown, pointer = '#'): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return;
  yield [pointer, value as Record<string, unknown>];
  for (const [name, part] of Object.entries(value))
    yield* parts(part, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}

t.test('the document is served as JSON and as YAML', async t => {
  t.equal(document.openapi, '3.1.0');
  const { text, headers } = await call('GET', '/docs/yaml', 200);
  t.match(headers['content-type'], /yaml/);
  t.equal(
    text,
    readFileSync('openapi.yaml', 'utf8'),
    'openapi.yaml is up to date: `npm run generate` writes it',
  );
  t.notMatch(text, /: [&*]\w+$/m, 'no anchors: they are hard to read');
});

t.test('a client that has the document already gets a 304, compressed or not', async t => {
  for (const url of ['/docs/json', '/docs/yaml'])
    for (const method of ['GET', 'HEAD']) {
      const { headers, text } = await call(method, url, 200);
      const { etag = '', vary } = headers;
      t.match(headers, { etag: /^W\/"[\w-]{27}"$/, vary: 'accept-encoding', 'cache-control': 'no-cache' });
      const zipped = await app.inject({ method: 'GET', url, headers: { 'accept-encoding': 'gzip' } });
      t.match(zipped.headers, { etag, vary, 'content-encoding': 'gzip' });
      if (method === 'GET') t.equal(String(gunzipSync(zipped.rawPayload)), text);
      const known = await call(method, url, 304, { headers: { 'if-none-match': `"x", ${etag}` } });
      t.match(known, { text: '', headers: { etag, vary, 'content-length': undefined } });
      await call(method, url, 200, { headers: { 'if-none-match': '"x"' } });
    }
});

t.test('every route is in the document, and nothing else is', async t => {
  const segments: string[] = [];
  const routes: string[] = [];
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const [, indent = '', part = ''] = /^([│ ]*)[└├]── (\S+) \(/u.exec(line) ?? [];
    segments.splice(indent.length / 4, Number.POSITIVE_INFINITY, part);
    if (part) routes.push(segments.join('').replace(/^\/+/, '/'));
  }
  const documented = Object.keys(document.paths).map(path => path.replace(/\{(\w+)\}/g, ':$1'));
  t.same(
    routes.filter(path => !/^\/(docs|home|console|api\/graphql\/tool)\b/.test(path)).toSorted(),
    documented.toSorted(),
  );
  for (const path of documented) {
    const { allow } = (await call('OPTIONS', path, 204)).headers;
    const item = document.paths[path.replace(/:(\w+)/g, '{$1}')];
    const methods = Object.keys(item).map(name => name.toUpperCase());
    const implied = methods.includes('GET') ? ['HEAD', 'OPTIONS'] : ['OPTIONS'];
    t.equal(allow, [...methods, ...implied].toSorted().join(', '), path);
  }
});

t.test('every operation has a name, a tag, a summary, and lists its errors', async t => {
  const names = new Set(operations.map(({ operation }) => operation.operationId));
  t.equal(names.size, operations.length);
  for (const { path, method, operation } of operations) {
    t.match(
      operation,
      { operationId: /^[a-z]+[A-Z]/, summary: /^[A-Z]/, tags: [String] },
      `${method} ${path}`,
    );
    const statuses = Object.keys(operation.responses);
    for (const status of ['400', '431', '500', '503']) t.ok(statuses.includes(status), `${path} ${status}`);
    t.equal(statuses.includes('429'), !/^\/(health|api\/webhooks)/.test(path), `${path} 429`);
    t.equal(statuses.includes('404'), path.includes('{'), `${path} 404`);
    const takesAnyType = path.startsWith('/api/webhooks');
    t.equal(statuses.includes('415'), operation.requestBody !== undefined && !takesAnyType, `${path} 415`);
    // GraphQL and webhooks also have errors of another shape.
    if (/^\/api\/(graphql|webhooks)/.test(path)) continue;
    // Each operation has conflicts of its own, and an example of its own of what is easily mistaken.
    for (const [status, response] of Object.entries(operation.responses))
      if (Number(status) >= 400 && status !== '409')
        t.ok(
          response.$ref?.startsWith('#/components/responses/') ||
            response.content?.['application/json']?.example,
          `${path} ${status}`,
        );
  }
});

t.test('shared schemas are defined once and referenced', async t => {
  const errors = [
    ...Object.keys(document.components.responses),
    ...Object.keys(document.components.examples),
  ];
  const named = errors.map(code => `${nameOf(code)}Error`);
  t.same(Object.keys(document.components.schemas).toSorted(), [...components.keys(), ...named].toSorted());
  // A 409 has one of several.
  for (const { path, operation } of operations)
    for (const [pointer, part] of parts({ body: operation.requestBody, ok: operation.responses }))
      if (/json$/.test(pointer) && !pointer.includes('/409/'))
        t.match(part.schema, { $ref: /^#\/components\/schemas\/\w+$/ }, path + pointer);
  for (const [pointer, { $ref }] of parts(document)) {
    if (typeof $ref !== 'string') continue;
    const target = $ref
      .slice(2)
      .split('/')
      .reduce((at, name) => at?.[name], document);
    t.ok(target, `${pointer} refers to ${$ref}`);
  }
});

t.test('every shared error response has an example with its own status', async t => {
  for (const [name, response] of Object.entries<{ content: object }>(document.components.responses)) {
    const { error } = Object.values(response.content)[0].example;
    const code = name.replace(/(?!^)[A-Z]/g, letter => `_${letter}`).toLowerCase();
    t.equal(error.status, statusOf[code as keyof typeof statusOf], name);
  }
});

t.test('every example matches its schema', async t => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  let checked = 0;
  for (const [pointer, part] of parts(document)) {
    const isMedia = 'schema' in part && 'example' in part;
    const isSchema = Array.isArray(part.examples) && !isMedia && 'type' in part;
    if (!isMedia && !isSchema) continue;
    const check = ajv.compile({ $ref: `document${isMedia ? `${pointer}/schema` : pointer}` });
    for (const example of isMedia ? [part.example] : (part.examples as unknown[])) {
      t.ok(check(example), `${pointer}: ${ajv.errorsText(check.errors)}`);
      checked++;
    }
  }
  t.ok(checked > 60, `${checked} examples`);
});

t.test('every parameter and every member has a description', async t => {
  for (const { path, operation } of operations)
    for (const parameter of parametersOf(operation))
      t.match(parameter.description, /^[A-Z].*\.$/, `${path} ${parameter.name}`);
  for (const name of [...namesOf('record', 'create', 'replace', 'update'), 'PageMeta', 'Violation'])
    for (const [member, schema] of Object.entries<{ description?: string }>(
      document.components.schemas[name].properties,
    ))
      t.match(schema.description, /^[A-Z].*\.$/, `${name}.${member}`);
});

t.test(
  'no query parameter or header is required, and none has an example that the page would send',
  async t => {
    for (const { path, operation } of operations)
      for (const parameter of parametersOf(operation)) {
        const { in: part, name, required = false } = parameter;
        t.equal(required, part === 'path', `${path} ${name}`);
        if (part !== 'path') t.notOk('example' in parameter, `${path} ${name}`);
      }
  },
);

t.test('members that only the service writes are read-only, so example requests omit them', async t => {
  for (const name of namesOf('record', 'replace', 'update'))
    for (const [member, schema] of Object.entries<{ readOnly?: boolean }>(
      document.components.schemas[name].properties,
    ))
      t.equal(
        schema.readOnly ?? false,
        ['id', 'version', 'createdAt', 'updatedAt'].includes(member),
        `${name}.${member}`,
      );
});

t.test('bodies are strict in the document too', async t => {
  for (const name of [...namesOf('record', 'create', 'replace', 'update'), 'Error'])
    t.equal(document.components.schemas[name].additionalProperties, false, name);
  const { requestBody } = document.paths['/api/users/{user_id}'].patch;
  t.same(Object.keys(requestBody.content), ['application/json', 'application/merge-patch+json']);
});

t.test('the page loads from this server alone, under a strict policy', async t => {
  const { text, headers } = await call('GET', '/docs', 200);
  const policy = headers['content-security-policy'] ?? '';
  t.match(policy, /default-src 'none'; script-src 'self'; /);
  t.notMatch(policy, /script-src[^;]*unsafe|https?:|\*/);
  t.notMatch(text, /https?:\/\/|{{/, 'no other host is named');
  const parts = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path);
  t.equal(parts.length, 5);
  for (const path of parts)
    t.match((await call('GET', path, 200)).headers, {
      'cache-control': 'public, max-age=31536000, immutable',
    });
});
