import { type Static, Type } from '@sinclair/typebox';
import { oneOf, ref, strict, string } from './common.ts';

export const Violation = strict(
  {
    in: oneOf(['body', 'query', 'path', 'header'], 'The part of the request that is wrong.'),
    path: string('Where in that part, as a JSON Pointer. Empty for the part itself.', '/email'),
    message: string('What is wrong there.', 'must be a valid e-mail address'),
  },
  { $id: 'Violation', description: 'One thing that is wrong with a request.' },
);
export type Violation = Static<typeof Violation>;

export const ErrorEnvelope = strict(
  {
    error: strict({
      message: string('An explanation for people.'),
      status: Type.Integer({
        minimum: 400,
        maximum: 599,
        description: 'Equals the HTTP status of the response.',
      }),
      details: Type.Optional(
        Type.Unsafe<Violation[] | ({ code: string } & Record<string, unknown>)>({
          description: 'For invalid input a list of violations, otherwise an object with a stable `code`.',
          anyOf: [
            { type: 'array', items: ref(Violation) },
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
