import { inspect } from 'node:util';
import type { ExampleRequest } from './exampleRequest.ts';

/** The page at `/docs` puts its own address here. */
const server = 'https://api.example.com';

/** How to send the request, for those who copy it. */
export const samplesOf = (request: ExampleRequest, needsKey: boolean) => [
  { lang: 'Shell', label: 'curl', source: curl(request, needsKey) },
  ...(request.isJson ? [{ lang: 'TypeScript', label: 'TypeScript', source: typescript(request) }] : []),
];

function curl({ method, path, params, mediaType, body }: ExampleRequest, needsKey: boolean): string {
  const url =
    server + path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const implied = body ? 'POST' : 'GET';
  return [
    `curl ${method === implied ? '' : `-X ${method} `}${url}`,
    ...(needsKey ? [`-H "Authorization: Bearer $KEY"`] : []),
    ...(body
      ? [`-H 'Content-Type: ${mediaType}'`, `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]
      : []),
  ].join(' \\\n  ');
}

/** With the client that `npm run client` writes. */
function typescript({ method, path, params, body }: ExampleRequest): string {
  const options = {
    ...(Object.keys(params).length > 0 && { params: { path: params } }),
    ...(body && { body }),
  };
  const given = Object.keys(options).length > 0 ? `, ${literal(options)}` : '';
  return `const { data, error } = await client.${method}('${path}'${given});`;
}

/** As one writes it by hand: names without quotes, one member in a line. */
const literal = (value: object) => inspect(value, { compact: false, depth: null });
