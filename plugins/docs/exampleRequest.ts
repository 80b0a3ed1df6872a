import { inspect } from 'node:util';
import type { RouteOptions } from 'fastify';
import type { OpenAPIV3_1 } from 'openapi-types';

/** An operation of the document, to which this folder adds what all operations have. */
export type Operation = Omit<OpenAPIV3_1.OperationObject, 'responses'> & {
  responses: Record<string, object>;
  'x-codeSamples'?: object[];
};

type Schema = {
  required?: string[];
  properties?: Record<string, Schema>;
  readOnly?: boolean;
  examples?: unknown[];
};
export type Schemas = Record<string, Schema>;

type Parameter = OpenAPIV3_1.ParameterObject & { schema: Schema };

export type ExampleRequest = ReturnType<typeof exampleRequest>;

/** The path of a route in the document. */
export const pathOf = ({ url }: RouteOptions) => url.replace(/:(\w+)/g, '{$1}');

/** A request that the operation accepts, made of the examples in its schemas. */
export function exampleRequest(
  route: RouteOptions,
  { parameters = [], requestBody, responses }: Operation,
  schemas: Schemas,
) {
  const own = parameters.filter((each): each is Parameter => 'name' in each);
  const examplesOf = (parameters: Parameter[]) =>
    Object.fromEntries(
      parameters.map(({ name, schema, example }) => [name, example ?? schema.examples?.[0]]),
    );
  const [media] = Object.entries((requestBody as OpenAPIV3_1.RequestBodyObject)?.content ?? {});
  return {
    method: String(route.method),
    path: pathOf(route),
    params: examplesOf(own.filter(each => each.in === 'path')),
    /** The parameters of the query that must be there. */
    required: examplesOf(own.filter(each => each.in === 'query' && each.required)),
    /** Whether the answer is, or there is none. */
    isJson: !/text\/(plain|event-stream)/.test(JSON.stringify(responses)),
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

/** The page at `/docs` puts its own address here. */
const server = 'https://api.example.com';

/** How to send the request, for those who copy it. */
export const samplesOf = (request: ExampleRequest, needsKey: boolean) => [
  { lang: 'Shell', label: 'curl', source: curl(request, needsKey) },
  ...(request.isJson ? [{ lang: 'TypeScript', label: 'TypeScript', source: typescript(request) }] : []),
];

function curl(
  { method, path, params, required, mediaType, body }: ExampleRequest,
  needsKey: boolean,
): string {
  const url =
    server + path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const query = new URLSearchParams(required as Record<string, string>);
  const implied = body ? 'POST' : 'GET';
  return [
    `curl ${method === implied ? '' : `-X ${method} `}${query.size > 0 ? `'${url}?${query}'` : url}`,
    ...(needsKey ? [`-H "Authorization: Bearer $KEY"`] : []),
    ...(body
      ? [`-H 'Content-Type: ${mediaType}'`, `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]
      : []),
  ].join(' \\\n  ');
}

/** With the client that `npm run client` writes. */
function typescript({ method, path, params, required, body }: ExampleRequest): string {
  const hasQuery = Object.keys(required).length > 0;
  const options = {
    ...(Object.keys(params).length > 0 && { params: { path: params, ...(hasQuery && { query: required }) } }),
    ...(body && { body }),
  };
  const argument = Object.keys(options).length > 0 ? `, ${literal(options)}` : '';
  return `const { data, error } = await client.${method}('${path}'${argument});`;
}

/** As one writes it by hand: names without quotes, one member in a line. */
const literal = (value: object) => inspect(value, { compact: false, depth: null });
