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
export const templatePath = ({ url }: RouteOptions) => url.replace(/:(\w+)/g, '{$1}');

/** A request that the operation accepts, made of the examples in its schemas. */
export function exampleRequest(
  route: RouteOptions,
  { parameters = [], requestBody }: Operation,
  schemas: Schemas,
) {
  const own = parameters.filter((each): each is Parameter => 'name' in each);
  const exampleValues = (parameters: Parameter[]) =>
    Object.fromEntries(
      parameters.map(({ name, schema, example }) => [name, example ?? schema.examples?.[0]]),
    );
  const [media] = Object.entries((requestBody as OpenAPIV3_1.RequestBodyObject)?.content ?? {});
  return {
    method: String(route.method),
    path: templatePath(route),
    params: exampleValues(own.filter(each => each.in === 'path')),
    /** The parameters of the query that must be there. */
    required: exampleValues(own.filter(each => each.in === 'query' && each.required)),
    query: own.filter(each => each.in === 'query').map(({ name }) => name),
    ...(media && { mediaType: media[0], body: exampleBody(schemaIn(media[1], schemas)) }),
  };
}

function schemaIn({ schema }: OpenAPIV3_1.MediaTypeObject, schemas: Schemas): Schema {
  const { $ref } = schema as OpenAPIV3_1.ReferenceObject;
  return schemas[$ref?.split('/').at(-1) ?? ''] ?? {};
}

/** The required members; if there are none, the first member. */
function exampleBody({ properties = {}, required = [] }: Schema): Record<string, unknown> {
  const writable = Object.entries(properties).filter(([, { readOnly }]) => !readOnly);
  const needed = writable.filter(([name]) => required.includes(name));
  const chosen = needed.length > 0 ? needed : writable.slice(0, 1);
  return Object.fromEntries(chosen.map(([name, schema]) => [name, schema.examples?.[0]]));
}

/** The page at `/docs` puts its own address here. */
const server = 'https://api.example.com';

/** Code that sends the request, for readers to copy. */
export function codeSamples({ path, params, required, ...request }: ExampleRequest, needsKey: boolean) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const query = new URLSearchParams(required as Record<string, string>);
  const url = `${server}${filled}${query.size > 0 ? `?${query}` : ''}`;
  return [
    { lang: 'Shell', label: 'curl', source: curl(url, request, needsKey) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(url, request, needsKey) },
  ];
}

type Sent = Pick<ExampleRequest, 'method' | 'mediaType' | 'body'>;

function curl(url: string, { method, mediaType, body }: Sent, needsKey: boolean): string {
  const implied = body ? 'POST' : 'GET';
  return [
    `curl ${method === implied ? '' : `-X ${method} `}${url.includes('?') ? `'${url}'` : url}`,
    ...(needsKey ? [`-H "Authorization: Bearer $KEY"`] : []),
    ...(body
      ? [`-H 'Content-Type: ${mediaType}'`, `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]
      : []),
  ].join(' \\\n  ');
}

function typescript(url: string, { method, mediaType, body }: Sent, needsKey: boolean): string {
  const headers = [
    ...(needsKey ? [`Authorization: 'Bearer ' + key`] : []),
    ...(body ? [`'Content-Type': '${mediaType}'`] : []),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length > 0 ? [`headers: { ${headers.join(', ')} }`] : []),
    ...(body ? [`body: JSON.stringify(${literal(body)})`] : []),
  ].map(option => `  ${option},\n`);
  return `const response = await fetch('${url}'${options.length > 0 ? `, {\n${options.join('')}}` : ''});`;
}

/** An object as people write it in code: names have no quotes. */
const literal = (value: object) =>
  inspect(value, { breakLength: Number.POSITIVE_INFINITY, compact: 10, depth: null });
