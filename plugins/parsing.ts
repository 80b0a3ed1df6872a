import { isUtf8 } from 'node:buffer';
import type { TSchema } from '@sinclair/typebox';
import { Type } from '@sinclair/typebox';
import fp from 'fastify-plugin';
import { strict } from '../schemas/common.ts';
import { components } from '../schemas/index.ts';
import { AppError, invalid } from '../src/core/errors.ts';
import { compileCheck } from '../src/core/validation.ts';

const partOf = { body: 'body', querystring: 'query', params: 'path', headers: 'header' } as const;
const noQuery = strict({});

/** How a request becomes an input: its bytes are parsed strictly, and its parts are checked by their schemas. */
export default fp(async app => {
  for (const component of components) app.addSchema(component);

  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<Buffer>(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'buffer' },
    (request, body, done) => {
      const mergePatch = request.headers['content-type']?.startsWith('application/merge-patch');
      if (mergePatch && request.method !== 'PATCH')
        return done(
          new AppError('unsupported_media_type', 'A merge patch goes with PATCH. Send application/json.'),
        );
      // Many clients name a content type on a DELETE that has no content.
      if (body.length === 0 && request.method === 'DELETE') return done(null, undefined);
      // Decoding would turn what is not UTF-8 into replacement characters, and store those.
      if (!isUtf8(body)) return done(new AppError('bad_request', 'The body is not valid UTF-8.'));
      parseJson(request, body.toString('utf8'), done);
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

/** Query strings are text: where the schema asks for a number or a boolean, digits and words become that. */
function fromQuery(schema: TSchema) {
  const typeOf = (name: string) => schema.properties?.[name]?.type;
  return (query: unknown) =>
    Object.fromEntries(
      Object.entries(query as object).map(([name, value]) => {
        if (typeOf(name) === Type.Integer().type && /^-?\d+$/.test(value)) return [name, Number(value)];
        if (typeOf(name) === Type.Boolean().type && /^(true|false)$/.test(value))
          return [name, value === 'true'];
        return [name, value];
      }),
    );
}
