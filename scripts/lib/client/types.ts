import { minifyIntrospection, preprocessIntrospection } from 'gql.tada/internal';
import { buildSchema, introspectionFromSchema } from 'graphql';
import openapiTS, {
  astToString,
  type DiscriminatorObject,
  type OpenAPI3,
  type OperationObject,
} from 'openapi-typescript';
import { OperatorError } from '../../../src/core/errors.ts';
import { printable } from '../../../src/core/text.ts';

/** The types of REST: paths, operations, and every schema by its name. */
export async function restTypes(document: OpenAPI3): Promise<string> {
  refuseOtherDocuments(document);
  const bodied = structuredClone(document);
  for (const item of Object.values(bodied.paths ?? {}))
    for (const operation of Object.values(item)) alwaysWithBody(operation);
  // Not JSON: Prometheus reads text, and providers sign the bytes that they send.
  for (const path of ['/metrics', '/api/webhooks/{provider}']) delete bodied.paths?.[path];
  const types = await openapiTS(bodied, {
    silent: true,
    // A member with a default may be absent from a body.
    defaultNonNullable: false,
    // Any object, such as the variables of GraphQL, not an empty one.
    emptyObjectsUnknown: true,
  });
  return astToString(types);
}

/**
 * The generator would read files of this machine and addresses of its network, and write what is there into the types. It
 * also prints the document's names unchanged.
 */
function refuseOtherDocuments(document: OpenAPI3): void {
  JSON.stringify(document, (name, value) => {
    if (printable(name) !== name)
      throw new OperatorError(`The OpenAPI document has a name that cannot be printed: ${name}`);
    const other = referencesIn(name, value).find(reference => !String(reference).startsWith('#/'));
    if (other !== undefined) throw new OperatorError(`The OpenAPI document refers to another one: ${other}`);
    return value;
  });
}

function referencesIn(name: string, value: unknown): unknown[] {
  if (name === 'discriminator') return Object.values((value as DiscriminatorObject | null)?.mapping ?? {});
  return typeof value === 'string' && ['$ref', 'externalValue'].includes(name) ? [value] : [];
}

const withoutBody = /\/(Prefer|IfNoneMatch)$/;

/**
 * Without the headers that ask for a response without a body. With them, a success could have no `data`, and each use of
 * it would have to be checked. Clients can still send them as plain `headers`.
 */
function alwaysWithBody({ parameters = [], responses = {} }: OperationObject): void {
  const kept = parameters.filter(parameter => !('$ref' in parameter && withoutBody.test(parameter.$ref)));
  parameters.splice(0, parameters.length, ...kept);
  delete responses[304];
  if (responses[200] ?? responses[201]) delete responses[204];
}

/** The types of GraphQL, for gql.tada. */
export function graphqlTypes(schema: string): string {
  const introspection = introspectionFromSchema(buildSchema(schema), { descriptions: false });
  return `export type introspection = ${preprocessIntrospection(minifyIntrospection(introspection))};\n`;
}
