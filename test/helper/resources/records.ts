import type { TSchema } from '@sinclair/typebox';
import { sampleValue } from '#scripts/lib/sampleValue.ts';
import type { AnyResource, Operations } from '#src/records/resource.ts';
import { samples } from '#test/domain/samples.ts';
import type { Answer, Call } from '#test/helper/app.ts';
import { domain, ofTests } from '#test/world/index.ts';
import { specimen } from '#test/world/specimens.ts';

export type Caller = (method: string, url: string, status: number, options?: Call) => Promise<Answer>;
type Body = Record<string, unknown>;
let made = 0;

/** The resources with all operations, for tests of what all of them share. */
export const completeResources = (domain.resources as Partial<Operations>[]).flatMap(
  ({ resource, create, replace, change, remove }) =>
    resource && create && replace && change && remove ? resource : [],
);

/** The resources for slow tests: those of the application, and the one of test/world with every type of member. */
export const variedResources = completeResources.filter(
  each => each.name === specimen.name || ofTests.every(({ resource }) => resource !== each),
);

/** Returns the body of a user who does not exist yet. */
export const newPerson = () => ({ name: 'Ada', email: `new${++made}@example.com` });

/** Returns a body that creates a record with all its members, and with parents that exist. */
export async function newBody(call: Caller, resource: AnyResource, members: Body = {}): Promise<Body> {
  const given = { ...samples[resource.plural], ...members };
  const body = { ...newMembers(resource.contract.create.properties), ...given };
  for (const { member, parent } of resource.parentRelations)
    if (!(member in given)) body[member] = parent === resource ? null : (await makeRecord(call, parent)).id;
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

/** Returns a change of one member of a record: no enum, which may have rules, if there is another member. */
export async function newChange(call: Caller, resource: AnyResource, record: Body): Promise<Body> {
  const parents = resource.parentRelations;
  const members = Object.entries(resource.contract.create.properties);
  const free = members.filter(([name]) => parents.every(({ member }) => member !== name));
  // A record is given to no other owner.
  const [parent] = parents.filter(({ member }) => member !== resource.owner);
  if (free.length === 0 && parent) return { [parent.member]: (await makeRecord(call, parent.parent)).id };
  const [name, member] = (free.find(([, { enum: words }]) => !words) ?? free[0]) as [string, TSchema];
  const choices: unknown[] = member.enum ?? [true, false];
  const isChoice = member.enum !== undefined || [member.type].flat()[0] === 'boolean';
  return isChoice
    ? { [name]: choices.find(each => each !== record[name] && each !== null) }
    : newMembers({ [name]: member });
}

/** Returns a value for each member: each time another one, as far as the schema allows. */
const newMembers = (properties: Record<string, TSchema>): Body =>
  Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, sampleValue(member, ++made)]));
