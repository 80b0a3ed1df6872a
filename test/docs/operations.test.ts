import { runInNewContext } from 'node:vm';
import t from 'tap';
import { codeSamples } from '#plugins/docs/exampleRequest.ts';
import { build } from '#test/helper/app.ts';

const { call } = await build(t);
const { body: document } = await call('GET', '/docs/json', 200);
interface Operation {
  operationId: string;
  description: string;
  security?: Record<string, string[]>[];
  requestBody?: object;
  responses: Record<string, { content?: Record<string, { example?: { error: { details: Mistake[] } } }> }>;
  'x-codeSamples': { label: string; source: string }[];
}
type Mistake = { in: string; path: string };
const operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);
const exampleOf = ({ responses }: Operation, status: number) =>
  responses[status]?.content?.['application/json']?.example;

/** Returns the body that a code sample sends. */
const sampleBody = (operation: Operation) =>
  JSON.parse(/-d '(.*)'/s.exec(operation['x-codeSamples'][0]?.source ?? '')?.[1] ?? '{}');

t.test('the example of a 400 is what the service answers to this mistake', async t => {
  const checked: string[] = [];
  for (const { path, method, operation } of operations) {
    // GraphQL has errors of its own, and `/api/me` needs a token.
    if (['/api/graphql', '/api/me'].includes(path)) continue;
    const example = exampleOf(operation, 400);
    const [mistake] = example?.error.details ?? [];
    if (!mistake || path.includes('{')) continue;
    const name = mistake.path.slice(1);
    const request = mistake.in === 'body' ? { body: { ...sampleBody(operation), [name]: 1 } } : {};
    const url = mistake.in === 'query' ? `${path}?${name}=1` : path;
    const answer = await call(method.toUpperCase(), url, 400, request);
    t.same(answer.body, example, `${method} ${path}`);
    checked.push(operation.operationId);
  }
  for (const name of ['listUsers', 'createUser', 'createApiKey', 'listAudit'])
    t.ok(checked.includes(name), name);
});

t.test('the example of a 404 names the record of its operation', async t => {
  for (const { path, method, operation } of operations) {
    if (!path.includes('{') || method !== 'get') continue;
    const id = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';
    const answer = await call('GET', path.replace(/\{\w+\}/, id), 404);
    t.same(answer.body, exampleOf(operation, 404), path);
  }
});

/** Returns what a TypeScript sample, which is JavaScript too, passes to `fetch`. */
function sentBy(source = ''): RequestInit & { url: string; headers?: Record<string, string> } {
  const call = source.replace('const response = await fetch', 'send');
  const send = (url: string, init: RequestInit = {}) => JSON.stringify({ url, method: 'GET', ...init });
  return JSON.parse(runInNewContext(call, { send, key: '123' }));
}

t.test('every operation has code samples, whose requests are accepted', async t => {
  for (const { path, method, operation } of operations) {
    const [curl, typescript] = operation['x-codeSamples'];
    t.match(curl, { label: 'curl', source: /curl .*https:\/\/api\.example\.com/ }, `${method} ${path}`);
    if (path === '/api/webhooks/{provider}') continue;
    const sent = sentBy(typescript?.source);
    t.ok(curl?.source.includes(sent.url), `${method} ${path}`);
    t.same([sent.method, sent.body ?? '{}'], [method.toUpperCase(), JSON.stringify(sampleBody(operation))]);
  }
  const create = operations.find(({ operation }) => operation.operationId === 'createUser')?.operation;
  const { body } = await call('POST', '/api/users', 201, { body: sampleBody(create as Operation) });
  t.equal(body.name, 'Ada Lovelace');
});

t.test('quotes in an example end neither the command nor the string', async t => {
  const body = { name: `Ada O'Hara` };
  const request = {
    method: 'POST',
    path: '/api/users',
    params: {},
    query: [],
    required: {},
    body,
  };
  const [curl, typescript] = codeSamples(request, false);
  t.match(curl?.source, `-d '{"name":"Ada O'\\''Hara"}'`);
  t.same(sentBy(typescript?.source).body, JSON.stringify(body));
});

t.test('where keys are required, the samples send one', async t => {
  const guarded = await build(t, { settings: { AUTH_MODE: 'required' } });
  const { body } = await guarded.call('GET', '/docs/json', 200);
  const samplesAt = (path: string) => body.paths[path].get['x-codeSamples'];
  const [curl, typescript] = samplesAt('/api/users');
  t.match(curl.source, '-H "Authorization: Bearer $KEY"');
  t.same(sentBy(typescript.source).headers, { Authorization: 'Bearer 123' });
  t.notMatch(JSON.stringify(samplesAt('/health/live')), 'Authorization');
});
