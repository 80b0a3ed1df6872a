import type { TSchema } from '@sinclair/typebox';
import { components } from '../../schemas/common.ts';
import { kinds } from '../../src/resources.ts';
import type { Kind } from '../../src/services/kinds.ts';
import { childrenOfKind } from '../../src/services/relations.ts';
import type { Answer, Call } from './app.ts';

type Caller = (method: string, url: string, status: number, options?: Call) => Promise<Answer>;
let made = 0;

/** A user who does not exist yet. */
export const newPerson = () => ({ name: 'Ada', email: `new${++made}@example.com` });

/** Creates a record of any kind with the parents that it needs, from the examples of its schema. */
export async function makeRecord(call: Caller, kind: Kind, members: object = {}): Promise<Answer['body']> {
  const { properties, required = [] } = components.get(`${kind.title}Create`) ?? ({} as TSchema);
  const body: Record<string, unknown> = {};
  for (const name of required) body[name] = exampleOf(properties[name]);
  const parents = kinds.flatMap(childrenOfKind).filter(({ child }) => child === kind);
  for (const { member, parent } of parents)
    if (!(member in members)) body[member] = (await makeRecord(call, parent)).id;
  return (await call('POST', `/api/${kind.plural}`, 201, { body: { ...body, ...members } })).body;
}

const exampleOf = ({ format, examples }: { format?: string; examples: unknown[] }) =>
  format === 'email' ? `made${++made}@example.com` : examples[0];
