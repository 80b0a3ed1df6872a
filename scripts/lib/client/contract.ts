import { readFileSync } from 'node:fs';
import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery, printSchema } from 'graphql';
import type { OpenAPI3 } from 'openapi-typescript';
import { parse } from 'yaml';
import { UsageError } from '../../../src/command.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { ServiceClient } from '../serviceClient.ts';

/** What a client is made from. */
export interface Contract {
  document: OpenAPI3;
  /** Of GraphQL. */
  schema: string;
}

/** The contract of this project. */
export const projectContract = (): Contract => ({
  document: parse(readFileSync('openapi.yaml', 'utf8')),
  schema: readFileSync('schema.graphql', 'utf8'),
});

/** The contract of a running service. */
export async function contractOf(from: string, key: string | undefined): Promise<Contract> {
  if (!/^https?:/.test(from) || !URL.canParse(from)) throw new UsageError(`--from is not a URL: ${from}`);
  // The address of the document is accepted as well.
  const base = from.replace(/(\/docs(\/json)?)?\/*$/, '');
  const service = new ServiceClient(base, undefined);
  return { document: await documentOf(service, base), schema: await schemaOf(service, base, key) };
}

/** A server that accepts connections and never answers would keep the command waiting for minutes. */
const soon = () => ({ signal: AbortSignal.timeout(10_000) });

async function documentOf(service: ServiceClient, base: string): Promise<OpenAPI3> {
  const url = `${base}/docs/json`;
  const document = await jsonOf<Partial<OpenAPI3> | null>(await service.request('/docs/json', soon()), url);
  const { openapi, paths } = document ?? {};
  if (!String(openapi).startsWith('3.') || typeof paths !== 'object')
    throw new OperatorError(`${url} is not an OpenAPI document.`);
  return document as OpenAPI3;
}

async function schemaOf(service: ServiceClient, base: string, key: string | undefined): Promise<string> {
  const url = `${base}/api/graphql`;
  const response = await service.request('/api/graphql', {
    ...soon(),
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ query: getIntrospectionQuery({ specifiedByUrl: true }) }),
  });
  if (response.status === 401 || response.status === 403)
    throw new OperatorError(
      `${url} requires an API key with the scope read: pass one by --key or API_KEY. \`npm run keys\` creates one; stop a service with an embedded database first.`,
    );
  const result = await jsonOf<{ data?: IntrospectionQuery } | null>(response, url);
  if (!result?.data) throw new OperatorError(`${url} does not show its schema.`);
  return `${printSchema(buildClientSchema(result.data))}\n`;
}

async function jsonOf<T>(response: Response, url: string): Promise<T> {
  const text = await response.text();
  if (!response.ok) throw new OperatorError(`${url} answered ${response.status}. Is it this service?`);
  try {
    return JSON.parse(text);
  } catch {
    throw new OperatorError(`${url} did not answer with JSON. Is it this service?`);
  }
}
