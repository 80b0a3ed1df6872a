import { type Static, Type } from '@sinclair/typebox';
import { strict } from './common.ts';

const orNull = <T>(type: 'string' | 'object', description: string, example: unknown) =>
  Type.Optional(Type.Unsafe<T | null>({ type: [type, 'null'], description, examples: [example] }));

const query = Type.String({
  description: 'The GraphQL document. May be absent if `extensions.persistedQuery` names it.',
  examples: ['query Newest($limit: Int) { posts(limit: $limit) { title author { name } } }'],
});

export const GraphQLRequest = strict(
  {
    query: Type.Optional(query),
    operationName: orNull<string>('string', 'Which operation of the document to run.', 'Newest'),
    variables: orNull<Record<string, unknown>>('object', 'The values of the variables.', { limit: 3 }),
    extensions: orNull<Record<string, unknown>>(
      'object',
      'Protocol extensions; `persistedQuery` holds the SHA-256 of a document.',
      {},
    ),
  },
  { $id: 'GraphQLRequest', description: 'One operation.' },
);
export type GraphQLRequest = Static<typeof GraphQLRequest>;

const json = (description: string) => Type.Optional(Type.String({ description }));
/** The same in a query string, with objects as JSON. Queries only. */
export const GraphQLQuery = strict({
  query: Type.Optional(query),
  operationName: Type.Optional(Type.String({ description: 'Which operation of the document to run.' })),
  variables: json('The values of the variables, as JSON.'),
  extensions: json('Protocol extensions, as JSON.'),
});

const GraphQLError = strict({
  message: Type.String({ description: 'An explanation for people.' }),
  locations: Type.Optional(
    Type.Array(strict({ line: Type.Integer(), column: Type.Integer() }), {
      description: 'Where in the document the error is.',
    }),
  ),
  path: Type.Optional(
    Type.Array(Type.Union([Type.String(), Type.Integer()]), {
      description: 'Which field of the result it belongs to.',
    }),
  ),
  extensions: Type.Object(
    {
      code: Type.String({ description: 'A stable code.', examples: ['BAD_USER_INPUT'] }),
      requestId: Type.String({ description: 'Identifies this request in the log.' }),
    },
    { additionalProperties: true },
  ),
});

export const GraphQLErrors = strict(
  { errors: Type.Array(GraphQLError, { minItems: 1, description: 'Why nothing ran.' }) },
  {
    $id: 'GraphQLErrors',
    description: 'A request that was refused before anything ran, so there is no `data`.',
  },
);

export const GraphQLResult = strict(
  {
    data: Type.Optional(
      Type.Unsafe<Record<string, unknown> | null>({
        type: ['object', 'null'],
        description: 'Exactly the selected fields. Absent if nothing ran.',
      }),
    ),
    errors: Type.Optional(Type.Array(GraphQLError, { description: 'The errors, if any.' })),
  },
  {
    $id: 'GraphQLResult',
    description: 'The result of an operation.',
    examples: [{ data: { users: [{ name: 'Ada Lovelace', posts: [{ title: 'Notes on the engine' }] }] } }],
  },
);
