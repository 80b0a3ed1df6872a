import { type Static, Type } from '@sinclair/typebox';
import { strict } from './common.ts';

export const Violation = strict(
  {
    in: Type.String({
      enum: ['body', 'query', 'path', 'header'],
      description: 'The part of the request that is wrong.',
      examples: ['body'],
    }),
    path: Type.String({
      description: 'Where in that part, as a JSON Pointer. Empty for the part itself.',
      examples: ['/email'],
    }),
    message: Type.String({
      description: 'What is wrong there.',
      examples: ['must be a valid e-mail address'],
    }),
  },
  { $id: 'Violation', description: 'One thing that is wrong with a request.' },
);
export type Violation = Static<typeof Violation>;

export const ErrorEnvelope = strict(
  {
    error: strict({
      message: Type.String({ description: 'Text for a person.' }),
      status: Type.Integer({
        minimum: 400,
        maximum: 599,
        description: 'Equals the HTTP status of the response.',
      }),
      details: Type.Optional(
        Type.Unsafe<Violation[] | ({ code: string } & Record<string, unknown>)>({
          description: 'Invalid input: the list of violations. Other errors: an object with a stable `code`.',
          anyOf: [
            { type: 'array', items: { $ref: `${Violation.$id}#` } },
            {
              type: 'object',
              properties: { code: { type: 'string' } },
              required: ['code'],
              additionalProperties: true,
            },
          ],
        }),
      ),
    }),
  },
  {
    $id: 'Error',
    description: 'The body of every error.',
    examples: [{ error: { message: 'User not found.', status: 404, details: { code: 'not_found' } } }],
  },
);
export type ErrorEnvelope = Static<typeof ErrorEnvelope>;
