import type { TSchema } from '@sinclair/typebox';
import { wholeText } from '../../schemas/common.ts';
import { relationsOf } from '../../src/services/relations.ts';
import type { AnyResource } from '../../src/services/resource.ts';
import type { Answer, Call } from './app.ts';

type Caller = (method: string, url: string, status: number, options?: Call) => Promise<Answer>;
type Body = Record<string, unknown>;
let made = 0;

/** A user who does not exist yet. */
export const newPerson = () => ({ name: 'Ada', email: `new${++made}@example.com` });

/** A body that creates a record with all its members, and with parents that exist. */
export async function newBody(call: Caller, resource: AnyResource, members: Body = {}): Promise<Body> {
  const { properties } = resource.contract.create;
  const body = { ...newMembers(properties), ...members };
  for (const { member, parent } of relationsOf(resource))
    if (!(member in members)) body[member] = parent === resource ? null : (await makeRecord(call, parent)).id;
  return body;
}

/** Creates a record of any resource with the parents that it needs. */
export async function makeRecord(
  call: Caller,
  resource: AnyResource,
  members: Body = {},
): Promise<Answer['body']> {
  const body = await newBody(call, resource, members);
  return (await call('POST', `/api/${resource.path}`, 201, { body })).body;
}

/** A value for each member: each time another one, as far as the schema allows. */
export const newMembers = (properties: Record<string, TSchema>): Body =>
  Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, newValue(member, ++made)]));

function newValue(
  { type, format, pattern, enum: words, examples, minimum = 0 }: TSchema,
  n: number,
): unknown {
  if (words) return words[n % words.length] ?? words[0];
  if (format === 'email') return `made${n}@example.com`;
  if (format === 'date-time') return new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString();
  if (format === 'date') return new Date(Date.UTC(2026, 0, n)).toISOString().slice(0, 10);
  const kind = [type].flat();
  if (kind.includes('object')) return { number: n };
  if (kind.includes('integer') || kind.includes('number')) return minimum + n;
  if (kind.includes('boolean')) return n % 2 === 0;
  return pattern === wholeText ? `${examples[0]} ${n}` : examples[0];
}
