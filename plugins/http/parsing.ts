import { isUtf8 } from 'node:buffer';
import type { TSchema } from '@sinclair/typebox';
import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { strict } from '../../schemas/common.ts';
import { components } from '../../schemas/index.ts';
import { AppError, invalid } from '../../src/core/errors.ts';
import { compileCheck } from '../../src/core/validation.ts';

const partOf = { body: 'body', querystring: 'query', params: 'path', headers: 'header' } as const;
const noQuery = strict({});

/** How a request becomes an input: its bytes are parsed strictly, and its parts are checked by their schemas. */
export default fp(async app => {
  for (const component of components) app.addSchema(component);

  // Not sooner, so that it comes after the limiter.
  app.addHook('preParsing', (request, _reply, payload, done) => done(brokenTarget(request), payload));

  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'buffer' },
    (request, body, done) => {
      try {
        done(null, parseBody(request, body));
      } catch (error) {
        done(error as Error);
      }
    },
  );

  app.setValidatorCompiler<TSchema>(({ schema, httpPart = 'body' }) => {
    const check = compileCheck(schema, partOf[httpPart as keyof typeof partOf]);
    const convert = httpPart === 'querystring' ? fromQuery(schema) : (value: unknown) => value;
    return (given: unknown) => {
      const value = convert(given);
      const violations = check(value);
      return violations ? { error: invalid(violations) } : { value };
    };
  });

  // A route that names no query parameters takes none.
  app.addHook('onRoute', route => {
    if (!route.schema?.hide) route.schema = { querystring: noQuery, ...route.schema };
  });
});

/** What is wrong with the first lines of a request, and would otherwise be guessed at. */
function brokenTarget({ raw, headers, url }: FastifyRequest): AppError | undefined {
  if (headers.host === undefined && raw.httpVersion === '1.1')
    return new AppError('bad_request', 'HTTP/1.1 wants a Host header.');
  if (!url.includes('%', url.indexOf('?') + 1)) return undefined;
  try {
    decodeURIComponent(url.slice(url.indexOf('?') + 1));
    return undefined;
  } catch {
    return new AppError('bad_request', 'The query is not valid percent-encoded UTF-8.');
  }
}

function parseBody({ headers, method }: FastifyRequest, bytes: Buffer): unknown {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
  if (method !== 'PATCH' && /^application\/merge-patch/i.test(type))
    throw new AppError('unsupported_media_type', 'A merge patch goes with PATCH. Send application/json.');
  if (encoding !== 'identity')
    throw new AppError('unsupported_media_type', 'A compressed body is not supported.');
  // Many clients name a content type on a DELETE that has no content.
  if (bytes.length === 0 && method === 'DELETE') return undefined;
  if (bytes.length === 0) throw new AppError('bad_request', 'The body is empty. Send a JSON object.');
  // Decoding would turn what is not UTF-8 into replacement characters, and store those.
  if (!isUtf8(bytes)) throw new AppError('bad_request', 'The body is not valid UTF-8.');
  const body = fromJson(bytes.toString('utf8'));
  if (method === 'DELETE' && Object.keys(body ?? {}).length > 0)
    throw new AppError('bad_request', 'A DELETE takes no body.');
  return body;
}

/** `__proto__` is a member like any other here: the schemas refuse it by name, as they do all unknown ones. */
function fromJson(text: string): object | null {
  try {
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch {
    throw new AppError('bad_request', 'The body is not valid JSON.');
  }
}
const byteOrderMark = '\ufeff';

/** Query strings are text: where the schema asks for a number or a boolean, digits and words become that. */
function fromQuery(schema: TSchema) {
  const properties: Record<string, TSchema> = schema.properties ?? {};
  const types = new Map(Object.entries(properties).map(([name, { type }]) => [name, type]));
  return (query: unknown) =>
    Object.fromEntries(
      Object.entries(query as object).map(([name, value]) => {
        if (types.get(name) === Type.Integer().type && /^-?\d+$/.test(value)) return [name, Number(value)];
        if (types.get(name) === Type.Boolean().type && /^(true|false)$/.test(value))
          return [name, value === 'true'];
        return [name, value];
      }),
    );
}
