import { scopes } from '../../schemas/apiKey.ts';
import { ErrorEnvelope, Violation } from '../../schemas/error.ts';
import type { Conflict } from '../../src/core/conflicts.ts';
import { type ErrorCode, statusOf } from '../../src/core/errors.ts';

// Each status, and each code of a 409, has a schema of its own. With only the schema of `Error`, a client that is
// generated from the document could not know which codes an operation answers, and what comes with them.

const text = { type: 'string' };
const count = { type: 'integer' };
const oneOf = (values: readonly string[]) => ({ type: 'string', enum: values });
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Details with one of these codes. A member whose name ends in `?` may be absent. */
const coded = (codes: readonly string[], members: Record<string, object> = {}) => ({
  type: 'object',
  required: ['code', ...Object.keys(members).filter(name => !name.endsWith('?'))],
  properties: {
    code: oneOf(codes),
    ...Object.fromEntries(Object.entries(members).map(([name, schema]) => [name.replace('?', ''), schema])),
  },
});

/** The details of shared errors that have more than their code. */
const detailsOf: Partial<Record<ErrorCode, object>> = {
  invalid: { anyOf: [{ type: 'array', items: reference(Violation.$id ?? '') }, coded(['bad_request'])] },
  unauthenticated: coded(['unauthenticated'], { 'reason?': text }),
  forbidden: coded(['forbidden', 'not_yours', 'no_person'], {
    'scope?': oneOf(scopes),
    'path?': text,
    'credential?': text,
  }),
  not_found: coded(['not_found', 'no_person']),
  version_mismatch: coded(['version_mismatch'], { 'version?': count }),
  rate_limited: coded(['rate_limited'], { retryAfter: count }),
  unavailable: coded(['unavailable', 'overloaded', 'ending']),
};

/** The envelope with this status and these details. */
const envelope = (status: number, details: object) => {
  const { message } = ErrorEnvelope.properties.error.properties;
  const error = {
    type: 'object',
    additionalProperties: false,
    required: ['message', 'status', 'details'],
    properties: { message, status: { type: 'integer', enum: [status] }, details },
  };
  return { type: 'object', additionalProperties: false, required: ['error'], properties: { error } };
};

/** The schema of what an example shows. */
const shapeOf = (value: unknown): object => {
  if (Array.isArray(value)) return { type: 'array', items: shapeOf(value[0]) };
  return { type: Number.isInteger(value) ? 'integer' : typeof value };
};

function conflictSchema({ code, error, optional = [] }: Conflict): object {
  const { code: _, ...members } = error().details as { code: string };
  const shapes = Object.entries(members).map(([name, value]): [string, object] => [
    optional.includes(name) ? `${name}?` : name,
    shapeOf(value),
  ]);
  return envelope(statusOf.conflict, coded([code], Object.fromEntries(shapes)));
}

/** In the document a code is in capitalized words. */
export const schemaNameOf = (code: string) =>
  code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The schemas of the shared errors and of the conflicts, by name. */
export const errorSchemas = (codes: ErrorCode[], conflicts: readonly Conflict[]) =>
  Object.fromEntries([
    ...codes.map(code => [
      `${schemaNameOf(code)}Error`,
      envelope(statusOf[code], detailsOf[code] ?? coded([code])),
    ]),
    ...conflicts.map(conflict => [`${schemaNameOf(conflict.code)}Error`, conflictSchema(conflict)]),
  ]);

/** Refers to the schema of one code, or of any of several. */
export function errorSchema(codes: string[]): object {
  const schemas = codes.map(code => reference(`${schemaNameOf(code)}Error`));
  return schemas.length === 1 ? { ...schemas[0] } : { anyOf: schemas };
}
