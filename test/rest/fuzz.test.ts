// runs: long
import fc from 'fast-check';
import t from 'tap';
import { user } from '#src/domain/users.ts';
import type { AnyResource } from '#src/records/resource.ts';
import { type Answer, build, type Call } from '#test/helper/app.ts';
import { completeResources, makeRecord, variedResources } from '#test/helper/resources/records.ts';
import { anyName, Draw, type Schema, strange } from '#test/helper/values/draw.ts';
import { burrow } from '#test/world/burrows.ts';

interface Parameter {
  name: string;
  in: 'path' | 'query';
  required?: boolean;
  schema: Schema;
}
interface Operation {
  operationId: string;
  security?: object[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}
interface Request extends Call {
  path: Record<string, unknown>;
  query: Record<string, unknown>;
}

const seed = Number(process.env.TEST_SEED ?? 20261121);
const numRuns = Number(process.env.FUZZ_RUNS ?? 70);
const { app, send, call } = await build(t);
const document = (await app.documentWriter()).swagger() as unknown as {
  paths: Record<string, Record<string, Operation>>;
};
const draw = new Draw(document);
const counts: Record<string, number> = {};

/** Whether an operation needs a token even here. Such operations are tested in test/access. */
const needsToken = ({ security = [] }: Operation) => JSON.stringify(security) === '[{"bearer":["own"]}]';
/** Whether an operation is a stream, which does not end. Streams are tested in test/changes. */
const isStream = (operation: Operation) => JSON.stringify(operation).includes('text/event-stream');
const resourceAt = (template: string) =>
  completeResources.find(({ path }) => template.split('/')[2] === path);
/** Whether another resource has the same operations. */
const isLike = (template: string) => {
  const resource = resourceAt(template);
  return resource && !variedResources.includes(resource);
};
const operations = Object.entries(document.paths).flatMap(([template, item]) =>
  Object.entries(item)
    .filter(([, operation]) => !needsToken(operation) && !isStream(operation) && !isLike(template))
    .map(([method, operation]) => ({ template, method: method.toUpperCase(), operation })),
);

/** Ids that requests can use: of records of the path, users, burrows and a key, and one that does not exist. */
async function someIds(template: string): Promise<string[]> {
  const resource = resourceAt(template) ?? user;
  const make = (of: AnyResource) => Promise.all([1, 2, 3].map(() => makeRecord(call, of)));
  const records = [...(await make(resource)), ...(await make(user)), ...(await make(burrow))];
  const { body: key } = await call('POST', '/api/keys', 201, { body: { name: 'Key', scopes: ['read'] } });
  return [...records, key].map(({ id }) => id).concat('019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90');
}

/** The members of a body that name parents, with ids that exist. */
async function parentsAt(template: string): Promise<Record<string, string>> {
  const resource = resourceAt(template);
  const relations = resource?.parentRelations ?? [];
  return Object.fromEntries(
    await Promise.all(
      relations.map(async ({ member, parent }) => [member, (await makeRecord(call, parent)).id]),
    ),
  );
}

const isPathPart = (value: unknown) => !['', '.', '..'].includes(String(value));
const readOnly = ['id', 'version', 'createdAt', 'updatedAt'];
const withoutReadOnly = (body: unknown) =>
  Object.fromEntries(Object.entries(body as object).filter(([name]) => !readOnly.includes(name)));
const withParents = (body: object, parents: object) => ({
  ...body,
  ...Object.fromEntries(Object.entries(parents).filter(([name]) => name in body)),
});
const recordOf = (parameters: Parameter[], draws: (parameter: Parameter) => fc.Arbitrary<unknown>) =>
  fc.record(Object.fromEntries(parameters.map(each => [each.name, draws(each)])), {
    requiredKeys: parameters.filter(({ required }) => required).map(({ name }) => name),
  });

/** Requests that the OpenAPI document allows. */
function validRequests(
  { parameters = [], requestBody }: Operation,
  ids: string[],
  parents: Record<string, string> = {},
): fc.Arbitrary<Request> {
  const [type, content] = Object.entries(requestBody?.content ?? {}).at(-1) ?? [];
  const body = content && draw.valid(content.schema, ids);
  return fc.record({
    path: recordOf(
      parameters.filter(each => each.in === 'path'),
      ({ schema }) => fc.oneof(fc.constantFrom(...ids), draw.valid(schema, ids).filter(isPathPart)),
    ),
    query: recordOf(
      parameters.filter(each => each.in === 'query'),
      ({ schema }) => draw.valid(schema, ids),
    ),
    // The document allows any value of a read-only member; the stored record refuses nearly all.
    ...(body && {
      body: fc.oneof(
        body.map(each => withParents(withoutReadOnly(each), parents)),
        body,
      ),
      headers: fc.constant({ 'content-type': String(type) }),
    }),
  }) as fc.Arbitrary<Request>;
}

/** Valid requests made invalid in one place. */
function invalidRequests(operation: Operation, ids: string[]): fc.Arbitrary<Request> {
  const { parameters = [], requestBody } = operation;
  const valid = validRequests(operation, ids);
  const names = parameters.map(({ name }) => name);
  const kinds = [
    fc
      .tuple(valid, anyName, strange)
      .filter(([, name]) => !names.includes(name))
      .map(([request, name, value]) => ({ ...request, query: { ...request.query, [name]: value } })),
  ];
  for (const { name, schema } of parameters.filter(each => each.in === 'query')) {
    // Everything in a query is text: a number is checked by its digits, and plain text is always valid.
    const isWrong = (text: string) =>
      [text, plain(text), text.split(',')].every(value => !draw.isValid(schema, value));
    const texts = strange.map(textOf);
    if (!fc.sample(texts, { seed, numRuns: 200 }).some(isWrong)) continue;
    const wrong = texts.filter(isWrong);
    kinds.push(
      fc
        .tuple(valid, wrong)
        .map(([request, value]) => ({ ...request, query: { ...request.query, [name]: value } })),
    );
  }
  for (const [type, { schema }] of Object.entries(requestBody?.content ?? {})) {
    const headers = { 'content-type': type };
    const bytes = fc
      .oneof(
        fc.uint8Array({ size: 'medium' }).map(array => Buffer.from(array)),
        fc.string(),
      )
      .filter(isNoJson);
    kinds.push(
      fc.tuple(valid, draw.invalid(schema, ids)).map(([request, body]) => ({ ...request, body, headers })),
    );
    kinds.push(fc.tuple(valid, bytes).map(([request, raw]) => ({ ...request, raw, headers })));
    kinds.push(valid.map(request => ({ ...request, headers: { 'content-type': 'text/plain' } })));
  }
  return fc.oneof(...kinds);
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed();
/** Values of a list have commas between them. */
const queryText = (value: unknown) => (Array.isArray(value) ? value.join() : textOf(value)).toWellFormed();
const plain = (text: string) =>
  /^(-?\d+(\.\d+)?(e[+-]?\d+)?|true|false)$/i.test(text)
    ? JSON.parse(text.replace(/^(-?)0+(?=\d)/, '$1'))
    : text;
function isNoJson(bytes: Buffer | string) {
  try {
    return typeof JSON.parse(bytes.toString()) !== 'object';
  } catch {
    return true;
  }
}

/** Refusals of valid requests that depend on stored data; GraphQL reports its own syntax errors. */
const semantic =
  /^(is the id of no [a-z0-9 ]+|is read-only and differs from the stored value|is (required|only) for the scope "own"|must be in the future|must have whole texts without NUL, finite numbers and at most 100 levels|is not a cursor of this list with these filters and this sort|cannot be combined with "(after|before)"|must have 1 to 10 words, which are letters and digits|is no path that takes this method in a batch)$/;
const isSemantic = ({ status, body }: Answer) =>
  status < 300 ||
  status === 404 ||
  status === 409 ||
  (status === 400 && body?.errors !== undefined) ||
  (status === 400 && [body?.error.details].flat().every(({ message = '' }) => semantic.test(message)));

async function ask(template: string, method: string, { path, query, ...options }: Request): Promise<Answer> {
  const filled = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(textOf(path[name])));
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name.toWellFormed(), queryText(value)] as [string, string]),
  );
  const { answer, lie } = await send(method, `${filled}${search.size > 0 ? `?${search}` : ''}`, options);
  if (lie) throw new Error(`not as documented: ${lie}: ${answer.text.slice(0, 300)}`);
  if (answer.status >= 500) throw new Error(`answered ${answer.status}: ${answer.text}`);
  return answer;
}

for (const { template, method, operation } of operations) {
  t.test(`${operation.operationId}: requests that the document allows are never refused`, async () => {
    const requests = validRequests(operation, await someIds(template), await parentsAt(template));
    await fc.assert(
      fc.asyncProperty(requests, async request => {
        const answer = await ask(template, method, request);
        const key = `${operation.operationId} ${answer.status < 300}`;
        counts[key] = (counts[key] ?? 0) + 1;
        if (!isSemantic(answer)) throw new Error(`refused with ${answer.status}: ${answer.text}`);
      }),
      { seed, numRuns },
    );
  });
  t.test(`${operation.operationId}: requests that it does not allow are always refused`, async () => {
    const requests = invalidRequests(operation, await someIds(template));
    await fc.assert(
      fc.asyncProperty(requests, async request => {
        const { status } = await ask(template, method, request);
        if (status < 400) throw new Error(`taken with ${status}`);
      }),
      { seed, numRuns },
    );
  });
}

/** These need records that are not generated here. Most are of signed events, which test/webhooks covers. */
const needOthers = new Set([
  'receiveEvent',
  'getSubscription',
  'getWebhookEvent',
  'replayWebhookEvent',
  'dismissWebhookEvent',
  // This needs an identity that exists: test/access/me.test.ts.
  'removeIdentity',
  // What its bodies are depends on their paths: test/records/batches.
  'batch',
]);

t.test('the generated requests reach every operation', async t => {
  for (const { operation } of operations.filter(({ operation }) => !needOthers.has(operation.operationId)))
    t.ok(
      (counts[`${operation.operationId} true`] ?? 0) > 0,
      `${operation.operationId} succeeds at least once`,
    );
});
