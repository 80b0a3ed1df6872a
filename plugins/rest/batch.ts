import { unescape as decode, parse } from 'node:querystring';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { TObject } from '@sinclair/typebox';
import { charge } from '#plugins/http/admission/limits.ts';
import { ifMatch } from '#plugins/http/requests/conditions.ts';
import { isDecodable, queryConverter, serializerFor } from '#plugins/http/requests/parsing.ts';
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
  // Leaves half of the connections to single writes. The embedded database has only one.
  const connections = settings.DATABASE_URL === undefined ? 1 : settings.DATABASE_POOL_SIZE;
  const places = new Shares(2, Math.max(1, Math.floor(connections / 2)));
  const route = routesOf('Batch')('batch', 'Do several writes, all or none', 'write or own', {
    config: {
      conflicts: conflictsThrownBy(...[...writes.values()].map(({ act }) => act)),
      idempotencyKey: true,
      record: example.noun,
    },
    description: `Does the writes in their order. The first that is refused undoes the others, and the answer is its refusal, whose \`details\` have its number as \`operation\`, counted from 0. Each write is as its own route takes it, sees those before it, and counts as a request; \`"$0"\` in the place of an id is that of the record which operation 0 creates. With an \`Idempotency-Key\` the whole can be repeated until there is an answer.`,
    body: ref(batchBody([...writes.keys()], exampleOf(example))),
    response: { 200: ref(batchResults(resources.map(({ resource }) => ref(resource.contract.record)))) },
  });
  // The results are texts already, each made as its route makes it.
  const serializerCompiler = () => (results: Result[]) =>
    `{"results":[${results.map(({ text }) => text)}]}\n`;
  app.post('/batch', { ...route, serializerCompiler }, async (request, reply) => {
    const { caller, deadline } = request;
    const operations = forEachOperation(request.body.operations, each => findWrite(writes, each));
    forEachOperation(operations, ({ act }) => need(caller, act.scope ?? 'write'));
    const ready = forEachOperation(operations, (each, n) => prepare(each, operations.slice(0, n)));
    if (ready.length > 1) await charge(request, ready.length - 1);
    const inPlace = <T>(work: () => Promise<T>) => places.inTurn(caller.account.name, deadline, work);
    const write = (context: Context) => writeAll(context, ready);
    return sendResult(reply, write, () => null, inPlace);
  });
};

/** How each method writes: by which operation of a resource, and with which body. */
const methods = {
  POST: { by: 'create', body: 'create', status: 201 },
  PUT: { by: 'replace', body: 'replace', status: 200 },
  PATCH: { by: 'change', body: 'update', status: 200 },
  DELETE: { by: 'remove', body: undefined, status: 204 },
} as const;

type Input = Record<string, unknown>;
type Act = (inside: Context, ...input: unknown[]) => Promise<{ id: string } | undefined>;

/** The writes that a resource offers, by their methods and paths. The input of a deletion is its query. */
function writesOf(offered: Operations) {
  const { path, contract } = offered.resource;
  return Object.entries(methods).flatMap(([method, { by, body, status }]) => {
    const act = offered[by];
    if (!act) return [];
    const schema: TObject = body ? contract[body] : Removal;
    const write = {
      act: act as Act & typeof act,
      status,
      takesBody: body !== undefined,
      takesId: (member: string) => schema.properties[member]?.pattern === idPattern,
      check: body ? compileCheck(ref(schema), 'body') : compileCheck(schema, 'query'),
      serialize: serializerFor(ref(contract.record)),
    };
    return [[`${method} /api/${path}${by === 'create' ? '' : '/<id>'}`, write] as const];
  });
}

type Writes = Map<string, ReturnType<typeof writesOf>[number][1]>;
type Operation = ReturnType<typeof findWrite>;

const wrong = (part: Violation['in'], message: string): Violation => ({ in: part, path: '', message });
const readQuery = queryConverter(Removal);

/** The write that an operation asks for, and what it gives to it. */
function findWrite(writes: Writes, { method, path, body, ifMatch: tag }: BatchOperation) {
  const [, list, id, query = ''] = /^(\/api\/[^/?]+)(?:\/([^/?]+))?(?:\?(.*))?$/s.exec(path) ?? [];
  const write = writes.get(`${method} ${list}${id === undefined ? '' : '/<id>'}`);
  if (!write || !isDecodable(path))
    throw invalid([wrong('path', 'is no path that takes this method in a batch')]);
  const { takesBody } = write;
  if (takesBody && body === undefined) throw invalid([wrong('body', 'is required')]);
  if (!takesBody && body !== undefined) throw invalid([wrong('body', `must be absent for ${method}`)]);
  if (id === undefined && tag !== undefined) throw invalid([wrong('header', `must be absent for ${method}`)]);
  const condition = ifMatch({ headers: { 'if-match': tag } });
  const input = takesBody ? body : readQuery(parse(query, '&', '=', { maxKeys: 0 }));
  return { ...write, id, query, input: input as Input, condition };
}

/** The JSON text of a result, and the id of its record. */
type Result = { text: string; id: string | undefined };

/** Checks the input of an operation, and returns what does it. The input may refer to records made before it. */
function prepare(operation: Operation, before: Operation[]): BatchedWrite<Result> {
  const { act, status, takesBody, takesId, check, serialize, id, query, input, condition } = operation;
  /** The number of the creation to which a member refers, or -1. */
  const findCreation = (member: string) =>
    takesId(member) ? before.findIndex(({ id }, n) => id === undefined && input[member] === `$${n}`) : -1;
  const violations = check(input)?.filter(({ path }) => findCreation(path.slice(1)) < 0) ?? [];
  if (takesBody && query !== '') violations.push(wrong('path', 'must have no query for this method'));
  if (violations.length > 0) throw invalid(violations);
  const references = Object.keys(input)
    .map(member => ({ member, creation: findCreation(member) }))
    .filter(({ creation }) => creation >= 0);
  return {
    canFollow: results =>
      act.isOneStatement === true && references.every(({ creation }) => creation < results.length),
    run: async (inside, results) => {
      const ids = references.map(({ member, creation }) => [member, results[creation]?.id]);
      const known = { ...input, ...Object.fromEntries(ids) };
      const given = id === undefined ? [known] : [decode(id), known, condition];
      const record = await act(inside, ...given);
      const text = `{"status":${status}${takesBody ? `,"body":${serialize(record).trimEnd()}` : ''}}`;
      return { text, id: record?.id };
    },
  };
}

/** A record, and two that belong to it. */
function exampleOf(shown: AnyResource): BatchOperation[] {
  const [relation] = shown.parentRelations;
  const creation = ({ path, contract }: AnyResource, parent?: Input) => {
    const body = { ...requiredExamples(contract.create), ...parent };
    return { method: 'POST', path: `/api/${path}`, body };
  };
  if (!relation) return [creation(shown)];
  const child = creation(shown, { [relation.member]: '$0' });
  return [creation(relation.parent), child, child];
}
