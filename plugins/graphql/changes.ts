import type { TSchema } from '@sinclair/typebox';
import { changeActions, changesQuery } from '#schemas/service/change.ts';
import type { Feed } from '#src/changes/feed.ts';
import { type Follower, follow } from '#src/changes/follow.ts';
import type { Followed } from '#src/changes/followed.ts';
import type { SentPosition } from '#src/changes/position.ts';
import { keptIn } from '#src/core/kept.ts';
import { toWords, withArticle } from '#src/core/text.ts';
import { type Arguments, checkedBy, withoutNulls } from './fields/inputs.ts';
import { toArguments } from './fields/sdl.ts';
import type { SchemaPart } from './schema.ts';

const changedField = ({ title }: Followed) => `${title.replace(/^./, first => first.toLowerCase())}Changed`;

/** The subscriptions. Each sends what `GET /api/changes` does, for one kind of record. */
export const changeFields = (followed: Followed[]): SchemaPart[] => [
  { sdl: `"What was done to a record." enum ChangeAction { ${changeActions.join(' ')} }` },
  ...followed.map(each => {
    const { name, title, parents, counted, contract } = each;
    const { $id = '', properties } = contract.record;
    const words = Object.fromEntries(counted.map(member => [member, properties[member] as TSchema]));
    const ids = [...(properties.id ? ['id'] : []), ...Object.keys(parents)].map(
      argument => `${argument}: ID`,
    );
    const sdl = /* GraphQL */ `
"A committed change of ${withArticle(toWords(name))}."
type ${title}Change {
  action: ChangeAction!
  "The id of the record; for a subscription <provider>:<customer>."
  id: ID!
  "The version that the change made; for a deletion the last one and one more."
  version: Int!
  "The names of the members that were changed."
  changed: [String!]!
  at: DateTime!
  "The position after the change, for the argument after and for GET /api/changes."
  cursor: String!
  "The record as it is now, which may be newer than version; null when it is gone."
  ${name}: ${title}
}
extend type Subscription {
  "Each committed change of ${withArticle(toWords(name))}, in the order of the commits, or of writing when they came at once: from now on, or after a position."
  ${changedField(each)}(${ids.join(', ')}, ${toArguments($id, words)}, after: String): ${title}Change!
}`;
    return { sdl };
  }),
];

const checks = new WeakMap<Followed, (args: object) => object>();
/** Checks the arguments as REST does; the graphql library has checked those that REST does not know. */
const filterCheck = (each: Followed) =>
  keptIn(checks, each, () => checkedBy({ ...changesQuery([each]), additionalProperties: true }, 'query'));

/** The changes that a field of the type Subscription sends, and `undefined` at times while there are none. */
export async function* openChanges(feed: Feed, field: string, args: Arguments, follower: Follower) {
  const resources = feed.followed.filter(each => changedField(each) === field);
  const known = withoutNulls(args) as Record<string, string>;
  for (const each of resources) filterCheck(each)(known);
  const { after, id, ...filters } = known;
  const sent: SentPosition = { in: 'query', path: '/after', text: after };
  for await (const { changes } of follow(feed, follower, { resources, id, filters }, sent)) {
    if (changes.length === 0) yield undefined;
    for (const { position: cursor, record, ...change } of changes)
      yield { ...change, cursor, [change.resource]: record };
  }
}
