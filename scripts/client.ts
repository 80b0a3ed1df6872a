import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { minifyIntrospection, preprocessIntrospection } from 'gql.tada/internal';
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  introspectionFromSchema,
  printSchema,
} from 'graphql';
import openapiTS, { astToString, type OpenAPI3, type OperationObject } from 'openapi-typescript';
import { parse } from 'yaml';
import { type Arguments, type Io, mainOf, UsageError } from '../src/command.ts';
import { OperatorError } from '../src/core/errors.ts';
import { serviceAt } from './lib/serviceClient.ts';

const usage = `npm run client -- <folder> [--from http://127.0.0.1:3000]: writes a typed TypeScript client into a folder: api.ts and
client.ts for REST, graphql-env.d.ts and schema.graphql for GraphQL. docs/client.md shows how to use them.

  --from  a running service whose contract is taken; by default it is openapi.yaml and schema.graphql of this project
  --key   an API key with the scope read, if that service requires one; API_KEY of the environment by default

Run it again after a change of the API. Files that it did not write are never overwritten.

Example: npm run client -- ../shop/src/triport`;

const options = { from: { type: 'string' }, key: { type: 'string' } } as const;

async function writeClient({ values, positionals: [folder] }: Arguments<typeof options>, io: Io) {
  const { from, key = io.env.API_KEY } = values;
  if (!folder) throw new UsageError('Name the folder of the client');
  const { document, schema } = from === undefined ? ownContract() : await contractOf(from, key);
  writeFiles(folder, {
    'api.ts': await restTypes(document),
    'client.ts': readFileSync('scripts/lib/client.ts', 'utf8'),
    'graphql-env.d.ts': graphqlTypes(schema),
    'schema.graphql': schema,
  });
  io.out('In your project: npm install openapi-fetch; for GraphQL also gql.tada and graphql.');
}

const ownContract = () => ({
  document: parse(readFileSync('openapi.yaml', 'utf8')) as OpenAPI3,
  schema: readFileSync('schema.graphql', 'utf8'),
});

/** The contract of a running service. */
async function contractOf(from: string, key: string | undefined) {
  const service = serviceAt(from, key);
  const document = await service.call<OpenAPI3>('GET', '/docs/json');
  const query = getIntrospectionQuery({ specifiedByUrl: true });
  const { data } = await service.call<{ data?: IntrospectionQuery }>('POST', '/api/graphql', { query });
  if (!document.openapi || !data) throw new OperatorError(`${from} is not this service.`);
  // The generator would read a file or an address that the document names, and write it into the types.
  const [, other] = /"\$ref":"([^#"][^"]*)"/.exec(JSON.stringify(document)) ?? [];
  if (other !== undefined) throw new OperatorError(`The OpenAPI document refers to another one: ${other}`);
  return { document, schema: `${printSchema(buildClientSchema(data))}\n` };
}

/** The types of REST: paths, operations, and every schema by its name. */
async function restTypes(document: OpenAPI3): Promise<string> {
  // Not JSON: Prometheus reads text, and providers sign the bytes that they send.
  for (const path of ['/metrics', '/api/webhooks/{provider}']) delete document.paths?.[path];
  for (const item of Object.values(document.paths ?? {})) Object.values(item).forEach(alwaysWithBody);
  // A member with a default may be absent from a body. An object without members may have any.
  const types = await openapiTS(document, { defaultNonNullable: false, emptyObjectsUnknown: true });
  return astToString(types);
}

/**
 * Without the headers that ask for a response without a body. With them, a success could have no `data`, and each use
 * of it would have to be checked. Clients can still send them as plain `headers`.
 */
function alwaysWithBody(operation: OperationObject): void {
  const { parameters = [], responses = {} } = operation;
  operation.parameters = parameters.filter(
    parameter => !('$ref' in parameter && /\/(Prefer|IfNoneMatch)$/.test(parameter.$ref)),
  );
  if (responses[200] ?? responses[201]) delete responses[204];
}

/** The types of GraphQL, for gql.tada. */
function graphqlTypes(schema: string): string {
  const introspection = introspectionFromSchema(buildSchema(schema), { descriptions: false });
  return `export type introspection = ${preprocessIntrospection(minifyIntrospection(introspection))};\n`;
}

/** Writes these files, or none of them if one would overwrite somebody's own. */
function writeFiles(folder: string, files: Record<string, string>): void {
  const mark = 'Written by `npm run client`, which overwrites it: do not edit.';
  for (const path of Object.keys(files).map(name => join(folder, name)))
    if (existsSync(path) && !readFileSync(path, 'utf8').includes(mark))
      throw new OperatorError(`${path} is not of this command. Move it, or name another folder.`);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, name), `${name.endsWith('.graphql') ? '#' : '//'} ${mark}\n${text}`);
}

export const main = await mainOf(import.meta, { usage, options, most: 1, run: writeClient });
