import type { OpenAPIV3_1 } from 'openapi-types';
import type { Operation } from './operation.ts';

type Schema = {
  required?: string[];
  properties?: Record<string, Schema>;
  readOnly?: boolean;
  examples?: unknown[];
};
export type Schemas = Record<string, Schema>;

type Parameter = OpenAPIV3_1.ParameterObject & { schema: Schema };

/** A request that the operation accepts, made of the examples in its schemas. */
export interface ExampleRequest {
  method: string;
  path: string;
  params: Record<string, unknown>;
  query: string[];
  mediaType?: string;
  body?: Record<string, unknown>;
  /** Whether the answer is, or there is none. */
  isJson: boolean;
}

export function exampleRequest(
  path: string,
  method: string,
  { parameters = [], requestBody, responses }: Operation,
  schemas: Schemas,
): ExampleRequest {
  const own = parameters.filter((each): each is Parameter => 'name' in each);
  const params = own.filter(each => each.in === 'path');
  const [media] = Object.entries((requestBody as OpenAPIV3_1.RequestBodyObject)?.content ?? {});
  return {
    method: method.toUpperCase(),
    path,
    params: Object.fromEntries(
      params.map(({ name, schema, example }) => [name, example ?? schema.examples?.[0]]),
    ),
    isJson: !JSON.stringify(responses).includes('text/plain'),
    query: own.filter(each => each.in === 'query').map(({ name }) => name),
    ...(media && { mediaType: media[0], body: exampleOf(schemaIn(media[1], schemas)) }),
  };
}

function schemaIn({ schema }: OpenAPIV3_1.MediaTypeObject, schemas: Schemas): Schema {
  const { $ref } = schema as OpenAPIV3_1.ReferenceObject;
  return schemas[$ref?.split('/').at(-1) ?? ''] ?? {};
}

/** What must be there; if nothing must, the first member. */
function exampleOf({ properties = {}, required = [] }: Schema): Record<string, unknown> {
  const writable = Object.entries(properties).filter(([, { readOnly }]) => !readOnly);
  const needed = writable.filter(([name]) => required.includes(name));
  const chosen = needed.length > 0 ? needed : writable.slice(0, 1);
  return Object.fromEntries(chosen.map(([name, schema]) => [name, schema.examples?.[0]]));
}
