import { isUtf8 } from 'node:buffer';
import type { TSchema } from '@sinclair/typebox';
import fastJson from 'fast-json-stringify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { badRequest, unsupportedMediaType } from '#plugins/http/errors.ts';
import { componentsIn, strict } from '#schemas/parts/common.ts';
import { type AppError, invalid } from '#src/core/errors.ts';
import { parseJson } from '#src/core/json.ts';
import { keptIn } from '#src/core/kept.ts';
import { compileCheck } from '#src/core/validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of a JSON body. */
    rawBody: Buffer | null;
  }
}

const partNames = { body: 'body', querystring: 'query', params: 'path', headers: 'header' } as const;
const noQuery = strict({});

/** Parses bodies strictly, checks each part of a request by its schema, and writes responses by theirs. */
async function register(app: FastifyInstance): Promise<void> {
  // Checks the target after `onRequest`, so that the request is counted first.
  app.addHook('preParsing', (request, _reply, payload, done) => done(checkTarget(request), payload));

  app.decorateRequest('rawBody', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'buffer' },
    (request, body, done) => {
      request.rawBody = body;
      done(...readBody(request, body));
    },
  );

  // Frees the body before the answer is sent: 500 lists of 256 KB that arrived together took 1.4 GB.
  app.addHook('onSend', (request, _reply, payload, done) => {
    [request.body, request.rawBody] = [undefined, null];
    done(null, payload);
  });

  app.setValidatorCompiler<TSchema>(({ schema, httpPart = 'body' }) => makeValidator(schema, httpPart));
  app.setSerializerCompiler(({ schema }) => serializerFor(schema));

  // A route without a schema for the query accepts no parameters, and one without a schema for the body no members.
  app.addHook('onRoute', route => {
    if (route.schema?.hide) return;
    route.schema = { querystring: noQuery, ...route.schema };
    const mayHaveBody = route.method !== 'GET' && route.method !== 'HEAD';
    if (mayHaveBody && !route.schema.body)
      route.preValidation = [route.preValidation ?? [], refuseMembers].flat();
  });
}

export default fp(register, { name: 'parsing' });

function makeValidator(schema: TSchema, httpPart: string) {
  const check = compileCheck(schema, partNames[httpPart as keyof typeof partNames]);
  const convert = httpPart === 'querystring' ? queryConverter(schema) : (value: unknown) => value;
  return (input: unknown) => {
    const value = convert(input);
    const violations = check(value);
    return violations ? { error: invalid(violations) } : { value };
  };
}

type Serializer = (value: unknown) => string;
const serializers = new Map<string, Serializer>();

/** Compiles each schema once. Fastify would do so for each route and status, which took most of the start. */
export function serializerFor(response: object): Serializer {
  const make = () => {
    const schema = Object.fromEntries(componentsIn(response)) as Record<string, object>;
    return withNewline(
      fastJson(response as fastJson.Schema, { schema: schema as Record<string, fastJson.Schema> }),
    );
  };
  return keptIn(serializers, JSON.stringify(response), make);
}

/** Ends each body with a newline, so that the prompt of a terminal does not stick to what curl has printed. */
const withNewline =
  (serialize: Serializer): Serializer =>
  value =>
    `${serialize(value)}\n`;

/** Refuses what Node and Fastify would accept: a wrong number of Host headers, and a query that cannot be decoded. */
function checkTarget({ raw, url }: FastifyRequest): AppError | undefined {
  const hosts = countHosts(raw.rawHeaders);
  if (hosts !== 1 && !(hosts === 0 && raw.httpVersion === '1.0'))
    return badRequest('HTTP/1.1 requires one Host header.');
  const start = url.indexOf('?') + 1;
  if (!url.includes('%', start) || isDecodable(url.slice(start))) return undefined;
  return badRequest('The query is not valid percent-encoded UTF-8.');
}

/** Whether a text is valid percent-encoded UTF-8. */
export function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

/** Counts the Host headers: Node keeps the first, and a proxy may have used another. */
function countHosts(rawHeaders: string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') count++;
  return count;
}

/** The refusal of a body, or null and its value. */
function readBody({ headers, method }: FastifyRequest, bytes: Buffer): [AppError | null, unknown?] {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
  if (method !== 'PATCH' && /^application\/merge-patch/i.test(type))
    return [unsupportedMediaType('A merge patch requires PATCH. Send application/json.')];
  if (encoding !== 'identity') return [unsupportedMediaType('Compressed bodies are not supported.')];
  // Many clients send a content type with a DELETE that has no body.
  if (bytes.length === 0 && method === 'DELETE') return [null];
  if (bytes.length === 0) return [badRequest('The body is empty. Send a JSON object.')];
  const value = parseJson(bytes);
  if (value !== undefined) return [null, value];
  return [badRequest(`The body is not valid ${isUtf8(bytes) ? 'JSON' : 'UTF-8'}.`)];
}

/** Refuses members that the route would ignore: a client that sends `dryRun` wants nothing done. */
async function refuseMembers({ body }: FastifyRequest) {
  if (Object.keys(body ?? {}).length > 0) throw badRequest('This request must not have a body.');
}

/** Query parameters are strings: digits and words become numbers and booleans where the schema has those. */
export function queryConverter(schema: TSchema) {
  const properties: Record<string, TSchema> = schema.properties ?? {};
  const types = new Map(Object.entries(properties).map(([name, { type }]) => [name, type]));
  const convert = (name: string, value: string): unknown => {
    const type = types.get(name);
    // A parameter that is given twice is no list: the check finds a list in the list.
    if (type === 'array') return typeof value === 'string' ? value.split(',') : [value];
    if (type === 'integer' && /^-?\d+$/.test(value)) return Number(value);
    if (type === 'number' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) return Number(value);
    if (type === 'boolean' && /^(true|false)$/.test(value)) return value === 'true';
    return value;
  };
  return (query: unknown) =>
    Object.fromEntries(
      Object.entries(query as Record<string, string>).map(([name, value]) => [name, convert(name, value)]),
    );
}
