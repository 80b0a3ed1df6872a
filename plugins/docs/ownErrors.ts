import { capitalize } from '../../src/core/text.ts';
import { errorResponses, type SharedError } from './errors.ts';
import type { ExampleRequest } from './exampleRequest.ts';

/** A shared error with an example of one operation. */
function withExample(name: 'Invalid' | 'NotFound', error: object): object {
  const { content, ...shared } = errorResponses[name] as SharedError;
  const { schema, example } = content['application/json'];
  return {
    ...shared,
    content: { 'application/json': { schema, example: { error: { ...example.error, ...error } } } },
  };
}

/** The 400 and the 404 of an operation, if they have more to say than the shared ones. */
export function ownErrors({ body, query }: ExampleRequest, record: string | undefined) {
  const [member] = Object.keys(body ?? {});
  const name = member ?? query[0];
  const mistake = name !== undefined && {
    in: member === undefined ? 'query' : 'body',
    path: `/${misspelt(name)}`,
    message: `is not known; did you mean "${name}"?`,
  };
  return {
    ...(mistake && { 400: withExample('Invalid', { details: [mistake] }) }),
    ...(record && { 404: withExample('NotFound', { message: `${capitalize(record)} not found.` }) }),
  };
}

/** With two letters in the wrong order. */
const misspelt = (name: string) => name.replace(/^(..)(.)(.)/, '$1$3$2');
