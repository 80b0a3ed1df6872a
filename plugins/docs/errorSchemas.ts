import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { scopes } from '../../schemas/apiKey.ts';
import { ErrorEnvelope, Violation } from '../../schemas/error.ts';
import type { Conflict } from '../../src/core/conflicts.ts';
import { type ErrorCode, statusOf } from '../../src/core/errors.ts';

// Each status, and each code of a 409, has a schema of its own. With only the schema of `Error`, a client that is
// generated from the document could not know which codes an operation answers, and what comes with them.

const text = Type.String();
const oneOf = (values: readonly string[]) => Type.Unsafe({ type: 'string', enum: values });
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Details with one of these codes. */
const coded = (codes: readonly string[], members: TProperties = {}) =>
  Type.Object({ code: oneOf(codes), ...members });

/** The details of shared errors that have more than their code. */
const detailsOf: Partial<Record<ErrorCode, object>> = {
  invalid: { anyOf: [{ type: 'array', items: reference(Violation.$id ?? '') }, coded(['bad_request'])] },
  unauthenticated: coded(['unauthenticated'], { reason: Type.Optional(text) }),
  forbidden: coded(['forbidden', 'not_yours', 'no_person'], {
    scope: Type.Optional(oneOf(scopes)),
    path: Type.Optional(text),
    credential: Type.Optional(text),
  }),
  not_found: coded(['not_found', 'no_person']),
  version_mismatch: coded(['version_mismatch'], { version: Type.Optional(Type.Integer()) }),
  rate_limited: coded(['rate_limited'], { retryAfter: Type.Integer() }),
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
const shapeOf = (value: unknown): TSchema => {
  if (Array.isArray(value)) return Type.Unsafe({ type: 'array', items: shapeOf(value[0]) });
  return Type.Unsafe({ type: Number.isInteger(value) ? 'integer' : typeof value });
};

function conflictSchema({ code, error, optional = [] }: Conflict): object {
  const { code: _, ...members } = error().details as { code: string };
  const shapes = Object.entries(members).map(([name, value]) => {
    const shape = shapeOf(value);
    return [name, optional.includes(name) ? Type.Optional(shape) : shape];
  });
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
