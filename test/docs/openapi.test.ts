import { gunzipSync } from 'node:zlib';
import { lint, loadConfig } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import t from 'tap';
import { parse } from 'yaml';
import { errorSchemaName } from '#plugins/docs/errors.ts';
import type { ErrorEnvelope } from '#schemas/parts/error.ts';
import { build } from '#test/helper/app.ts';
import { domain } from '#test/world/index.ts';

const { app, call } = await build(t);
const { body: document } = await call('GET', '/docs/json', 200);

type Schema = { $ref?: string; anyOf?: { $ref: string }[] };
interface Operation extends Record<string, unknown> {
  responses: Record<string, { content?: Record<string, { examples: object; schema: Schema }> }>;
  security?: object[];
}
const operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);
/** Returns the route of an operation. */
const routeOf = (path: string, method: string) => {
  const url = path.replace(/\{(\w+)\}/g, ':$1');
  return app.routes.find(each => each.url === url && each.method === method.toUpperCase());
};
type Parameter = Record<'name' | 'in', string> & { description?: string; required?: boolean; $ref?: string };
const parametersOf = ({ parameters = [] }: Operation) =>
  (parameters as Parameter[]).map(
    given => document.components.parameters[given.$ref?.split('/').at(-1) ?? ''] ?? given,
  ) as Parameter[];

/** Yields every object of the document with its JSON pointer. */
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
  t.same(parse(text), document);
  t.notMatch(text, /: [&*]\w+$/m, 'no anchors: they are hard to read');
});

t.test('the document follows the recommended rules of Redocly', async t => {
  const config = await loadConfig({ configPath: 'redocly.yaml' });
  t.same(await lint({ ref: 'openapi.yaml', config }), []);
});

t.test('no member of a creation is read-only: the page at /docs would hide it', async t => {
  const created = Object.entries(document.components.schemas).filter(([name]) => name.endsWith('Create'));
  t.ok(created.length >= 3);
  for (const [name, schema] of created) t.notMatch(JSON.stringify(schema), '"readOnly":true', name);
});

t.test('a client that has the document already gets a 304, compressed or not', async t => {
  for (const url of ['/docs/json', '/docs/yaml'])
    for (const method of ['GET', 'HEAD']) {
      const { headers, text } = await call(method, url, 200);
      const { etag = '', vary } = headers;
      t.match(headers, { etag: /^W\/"\w+-\d+"$/, vary: 'accept-encoding', 'cache-control': 'no-cache' });
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
  const pages = ['/docs', '/home', '/console', '/api/graphql/tool', ...domain.pages.map(({ path }) => path)];
  const isOfPage = (path: string) => pages.some(page => `${path}/`.startsWith(`${page}/`));
  t.same(routes.filter(path => !isOfPage(path)).toSorted(), documented.toSorted());
  for (const path of documented) {
    const { allow } = (await call('OPTIONS', path, 204)).headers;
    const item = document.paths[path.replace(/:(\w+)/g, '{$1}')];
    const methods = Object.keys(item).map(name => name.toUpperCase());
    const implied = methods.includes('GET') ? ['HEAD', 'OPTIONS'] : ['OPTIONS'];
    t.equal(allow, [...methods, ...implied].toSorted().join(', '), path);
  }
});

t.test('shared schemas are defined once and referenced', async t => {
  const errors = [
    ...Object.keys(document.components.responses),
    ...Object.keys(document.components.examples),
  ];
  const named = errors.map(code => `${errorSchemaName(code)}Error`);
  const references = JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g);
  const known = new Set(['Error', ...named, ...[...references].map(([, name = '']) => name)]);
  t.same(
    Object.keys(document.components.schemas).toSorted(),
    [...known].toSorted(),
    'none is missing or unused',
  );
  // A 409 has one of several schemas.
  for (const { path, operation } of operations)
    for (const [pointer, part] of parts({ body: operation.requestBody, ok: operation.responses }))
      if (/json$/.test(pointer) && !pointer.includes('/409/'))
        t.match(part.schema, { $ref: /^#\/components\/schemas\/\w+$/ }, path + pointer);
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

t.test(
  'no query parameter or header is required, and none has an example that the page would send',
  async t => {
    for (const { path, operation } of operations)
      for (const parameter of parametersOf(operation)) {
        const { in: part, name, required = false } = parameter;
        const isChoice = path.endsWith('/identities') && ['issuer', 'subject'].includes(name);
        t.equal(required, part === 'path' || isChoice, `${path} ${name}`);
        if (!required) t.notOk('example' in parameter, `${path} ${name}`);
      }
  },
);

t.test(
  'an operation shows exactly the codes of the 409s that its route names, each with an example',
  async t => {
    let checked = 0;
    for (const { path, method, operation } of operations) {
      const route = routeOf(path, method);
      // GraphQL has errors of another shape.
      if (!route || path === '/api/graphql') continue;
      const { conflicts = [], idempotencyKey } = route.config ?? {};
      const codes = [
        ...conflicts.map(({ code }) => code),
        ...(idempotencyKey ? ['idempotency_in_progress'] : []),
      ].toSorted();
      const shown = operation.responses['409']?.content?.['application/json'];
      t.same(Object.keys(shown?.examples ?? {}).toSorted(), codes, `${method} ${path}`);
      if (shown) t.same(codesIn(shown.schema).toSorted(), codes, `${method} ${path}`);
      checked += codes.length;
    }
    t.ok(checked > 12, `${checked} conflicts`);
    const check = new Ajv2020({ strict: false }).addSchema(document, 'document');
    for (const [code, { value }] of Object.entries<{ value: ErrorEnvelope }>(document.components.examples)) {
      for (const name of ['Error', `${errorSchemaName(code)}Error`])
        t.ok(check.validate({ $ref: `document#/components/schemas/${name}` }, value), `${code} ${name}`);
      t.match(value.error, { status: 409, details: { code } });
    }
  },
);

/** Returns the codes that a schema of errors allows. */
const codesIn = (schema: Schema): string[] =>
  [schema, ...(schema.anyOf ?? [])].flatMap(({ $ref }) => {
    const envelope = $ref && document.components.schemas[$ref.split('/').at(-1) ?? ''];
    return envelope ? envelope.properties.error.properties.details.properties.code.enum : [];
  });

t.test('the document states the scope that each route requires', async t => {
  t.match(document.components.securitySchemes, { bearer: { type: 'http', scheme: 'bearer' } });
  t.same(
    document.paths['/api/users'].get.security,
    [{}, { bearer: ['read'] }, { bearer: ['own'] }],
    'optional on an open service',
  );
  t.same(document.paths['/api/me'].get.security, [{ bearer: ['own'] }], 'which stands for nobody');
  const guarded = await build(t, { settings: { AUTH_MODE: 'required' } });
  const { body } = await guarded.call('GET', '/docs/json', 200);
  for (const { path, method } of operations) {
    const { security, responses } = body.paths[path][method];
    const { scope = 'public' } = routeOf(path, method)?.config ?? {};
    const isPublic = scope === 'public';
    const scopes = scope.split(' or ').map(each => ({ bearer: [each] }));
    t.same(security, isPublic ? undefined : scopes, `${method} ${path}`);
    t.same([401 in responses, 403 in responses], [!isPublic, !isPublic], `${method} ${path}`);
  }
});
