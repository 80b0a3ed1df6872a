import { unescape as decode, parse } from 'node:querystring';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { charge } from '#plugins/http/admission/limits.ts';
import { ifMatch } from '#plugins/http/requests/conditions.ts';
import { noQuery, queryConverter, serializerFor } from '#plugins/http/requests/parsing.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { idPattern, ref } from '#schemas/parts/common.ts';
import { Removal, requiredExamples } from '#schemas/parts/contract.ts';
import type { Violation } from '#schemas/parts/error.ts';
import { type BatchOperation, batchBody, batchResults } from '#schemas/service/batch.ts';
import type { Settings } from '#schemas/settings.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { invalid } from '#src/core/errors.ts';
import { Shares } from '#src/core/shares.ts';
import { compileCheck } from '#src/core/validation.ts';
import { type BatchedWrite, forEachOperation, writeAll } from '#src/records/batch.ts';
import type { AnyResource, Operations } from '#src/records/resource.ts';
import { sendResult } from './replies.ts';
import { conflictsThrownBy } from './resource.ts';

type Options = { resources: Operations[]; example: AnyResource; settings: Settings };

/** Several writes as one request. */
export const batchRoute: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { resources, example, settings } = options;
  const writes = new Map(resources.flatMap(writesOf));
  const conflicts = [...writes.values()].flatMap(({ act }) => conflictsThrownBy(act));
  // Two at once for an account. Single writes do not wait for the connections of batches: there are others.
  const places = new Shares(2, Math.max(1, Math.floor(settings.DATABASE_POOL_SIZE / 2)));
  const route = routesOf('Batch')('batch', 'Do several writes, all or none', 'write or own', {
    config: {
      conflicts: [...new Map(conflicts.map(each => [each.code, each])).values()],
      idempotencyKey: true,
      record: example.noun,
    },
    description: `Does the writes in their order. The first that is refused undoes the others, and the answer is its refusal, whose \`details\` have its number as \`operation\`, counted from 0. Each write is as its own route takes it, sees those before it, and counts as a request; \`"$0"\` in the place of an id is that of the record which operation 0 creates. With an \`Idempotency-Key\` the whole can be repeated until there is an answer.`,
    body: ref(batchBody([...writes.keys()], exampleOf(example))),
    response: { 200: ref(batchResults(resources.map(({ resource }) => ref(resource.contract.record)))) },
  });
  // The results are texts already, each made as its route makes it.
  const serializerCompiler = () => (results: string[]) => `{"results":[${results}]}\n`;
  app.post('/batch', { ...route, serializerCompiler }, async (request, reply) => {
    const { caller, deadline } = request;
    const ids: Ids = new Map();
    const operations = forEachOperation(request.body.operations, each => findWrite(writes, each));
    forEachOperation(operations, ({ act }) => need(caller, act.scope ?? 'write'));
    const ready = forEachOperation(operations, (each, n) => prepare(each, ids, `$${n}`));
    if (ready.length > 1) await charge(request, ready.length - 1);
    const inPlace = <T>(work: () => Promise<T>) => places.inTurn(caller.account.name, deadline, work);
    return sendResult(reply, context => writeAll(context, ready), { inPlace });
  });
};

/** How each method writes: by which operation of a resource, and with which body. */
const methods = {
  POST: { by: 'create', body: 'create', status: 201 },
  PUT: { by: 'replace', body: 'replace', status: 200 },
  PATCH: { by: 'change', body: 'update', status: 200 },
  DELETE: { by: 'remove', body: undefined, status: 204 },
} as const;

type Act = (inside: Context, ...input: unknown[]) => Promise<{ id: string }>;

/** The writes that a resource offers, by their methods and paths. */
function writesOf(offered: Operations) {
  const { path, contract } = offered.resource;
  return Object.entries(methods).flatMap(([method, { by, body, status }]) => {
    const act = offered[by];
    if (!act) return [];
    const [schema, query] = body ? [contract[body], noQuery] : [undefined, Removal];
    const write = {
      act: act as Act & typeof act,
      status,
      takesId: (member: string) => schema?.properties[member]?.pattern === idPattern,
      convertQuery: queryConverter(query),
      checkQuery: compileCheck(query, 'query'),
      checkBody: schema && compileCheck(ref(schema), 'body'),
      serialize: serializerFor(ref(contract.record)),
    };
    return [[`${method} /api/${path}${by === 'create' ? '' : '/<id>'}`, write] as const];
  });
}

type Writes = Map<string, ReturnType<typeof writesOf>[number][1]>;
type Operation = ReturnType<typeof findWrite>;

const wrong = (part: Violation['in'], message: string) => invalid([{ in: part, path: '', message }]);

/** The write that an operation asks for, and what it gives to it. */
function findWrite(writes: Writes, { method, path, body, ifMatch: tag }: BatchOperation) {
  const [, list, id, query = ''] = /^(\/api\/[^/?]+)(?:\/([^/?]+))?(?:\?(.*))?$/s.exec(path) ?? [];
  const write = writes.get(`${method} ${list}${id === undefined ? '' : '/<id>'}`);
  if (!write) throw wrong('path', 'must be one that takes this method in a batch');
  if (write.checkBody && body === undefined) throw wrong('body', 'is required');
  if (!write.checkBody && body !== undefined) throw wrong('body', `must be absent for ${method}`);
  if (id === undefined && tag !== undefined) throw wrong('header', `must be absent for ${method}`);
  const condition = ifMatch({ headers: { 'if-match': tag } });
  return { ...write, id, query: write.convertQuery(parse(query)), body: body as Body, condition };
}

type Body = Record<string, unknown>;
/** The ids of new records, by the references to them; empty while they are not there. */
type Ids = Map<unknown, string>;

/** Checks the input of an operation, and returns what does it. Its body may have references in the place of ids. */
function prepare(operation: Operation, ids: Ids, reference: string): BatchedWrite<string> {
  const { act, status, id, query, body, condition, checkQuery, checkBody, takesId, serialize } = operation;
  const isReference = (member: string) => takesId(member) && ids.has(body[member]);
  const inBody = checkBody?.(body)?.filter(({ path }) => !isReference(path.slice(1)));
  const violations = [...(checkQuery(query) ?? []), ...(inBody ?? [])];
  // Later operations may refer to this one: if it is not valid, that is no mistake of theirs.
  if (id === undefined) ids.set(reference, '');
  if (violations.length > 0) throw invalid(violations);
  const references = checkBody ? Object.keys(body).filter(isReference) : [];
  return {
    canFollow: () => act.isOneStatement === true && references.every(name => ids.get(body[name]) !== ''),
    run: async inside => {
      const known = Object.fromEntries(references.map(name => [name, ids.get(body[name])]));
      const input = checkBody ? { ...body, ...known } : query;
      // An attempt before this one may have set another id.
      if (id === undefined) ids.set(reference, '');
      const record = await (id === undefined
        ? act(inside, input)
        : act(inside, decode(id), input, condition));
      if (id === undefined) ids.set(reference, record.id);
      return `{"status":${status}${checkBody ? `,"body":${serialize(record).trimEnd()}` : ''}}`;
    },
  };
}

/** A record, and two that belong to it. */
function exampleOf(shown: AnyResource): BatchOperation[] {
  const [relation] = shown.parentRelations;
  const creation = ({ path, contract }: AnyResource, parent?: Body) => {
    const body = { ...requiredExamples(contract.create), ...parent };
    return { method: 'POST', path: `/api/${path}`, body };
  };
  if (!relation) return [creation(shown)];
  const child = creation(shown, { [relation.member]: '$0' });
  return [creation(relation.parent), child, child];
}
