import { type Static, Type } from '@sinclair/typebox';
import { strict, string } from '#schemas/parts/common.ts';

/** The media types of results: the usual one, and that of the GraphQL over HTTP specification. */
export const mediaTypes = ['application/json', 'application/graphql-response+json'] as const;

const orNull = <T>(type: 'string' | 'object', description: string, example: unknown) =>
  Type.Optional(Type.Unsafe<T | null>({ type: [type, 'null'], description, examples: [example] }));

/** The member that holds the document. */
const queryLike = (example: string) =>
  Type.Optional(
    string('The GraphQL document. May be absent if `extensions.persistedQuery` names it.', example),
  );

export const graphqlRequest = (example: string) =>
  strict(
    {
      query: queryLike(example),
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
export type GraphQLRequest = Static<ReturnType<typeof graphqlRequest>>;

/** An operation in a query string, with objects as JSON. It must be a query. */
export const graphqlQuery = (example: string) =>
  strict({
    query: queryLike(example),
    operationName: Type.Optional(string('Which operation of the document to run.')),
    variables: Type.Optional(string('The values of the variables, as JSON.')),
    extensions: Type.Optional(string('Protocol extensions, as JSON.')),
  });

const GraphQLError = strict({
  message: string('An explanation for people.'),
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
      code: string('A stable code.', 'BAD_USER_INPUT'),
      requestId: string('Identifies this request in the log.'),
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

/** The schema of a result, which shows this data as an example. */
export const graphqlResult = (data: object) =>
  strict(
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
      examples: [{ data }],
    },
  );
