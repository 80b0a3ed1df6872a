import type { RouteOptions } from 'fastify';

const text = { type: 'string' };
/** Without an example, which the page at `/docs` would send. */
const header = (name: string, description: string, schema: object = text) => ({
  name,
  in: 'header',
  description,
  schema,
});

/** The request headers that operations have in common. */
export const parameters = {
  IfNoneMatch: header(
    'If-None-Match',
    'The `ETag` of what the client has, such as `"1"`, several, or `*`. If it is unchanged, the response is a 304 without a body.',
  ),
  IfMatch: header(
    'If-Match',
    'The `ETag` of the record that the client has read, such as `"1"`, several, or `*`. If the record was changed since, the response is a 412 and nothing is written.',
  ),
  IdempotencyKey: header(
    'Idempotency-Key',
    'Any new text, such as a UUID. The same request sent again with the same key, within 24 hours, takes effect once and gets the same response.',
    { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  ),
  Prefer: header('Prefer', 'With `return=minimal`, a success is a 204 without the record.'),
};

/** What an operation does with the versions of records and with repeated requests. */
export function featuresOf(route: RouteOptions, isList: boolean) {
  const { method, config: { transport, versioned = false, idempotencyKey: repeatable = false } = {} } = route;
  const writes = method !== 'GET';
  return {
    /** Has an `ETag`, and a 304. */
    cached: isList || (versioned && !writes),
    /** Has an `ETag` of one record. */
    tagged: versioned && method !== 'DELETE',
    /** Writes a record that the client may have read. */
    conditional: versioned && ['PUT', 'PATCH', 'DELETE'].includes(String(method)),
    /** May return nothing. */
    minimal: versioned && writes && method !== 'DELETE',
    repeatable,
    /** Refuses a condition that is not met. */
    excluding: versioned || isList || (writes && transport === undefined),
  };
}
export type Features = ReturnType<typeof featuresOf>;

export function parametersOf({ cached, conditional, minimal, repeatable }: Features) {
  const taken = { IfNoneMatch: cached, IfMatch: conditional, IdempotencyKey: repeatable, Prefer: minimal };
  const names = Object.entries(taken).flatMap(([name, isTaken]) => (isTaken ? name : []));
  return names.map(name => ({ $ref: `#/components/parameters/${name}` }));
}
