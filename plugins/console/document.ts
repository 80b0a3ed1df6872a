import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { RouteOptions } from 'fastify';
import { titleOf } from '#plugins/pages/titles.ts';
import { componentsIn } from '#schemas/parts/common.ts';
import { scopesIn } from '#src/access/need.ts';
import type { Actor } from '#src/core/actor.ts';
import type { AnyResource } from '#src/records/resource.ts';

/** A list of the page, under its heading. The lists of resources are those of the composition. */
interface Shown {
  group: string;
  path: string;
  /** Its heading, if not the words of its path. */
  label?: string;
  /** What the stream of changes calls its records. */
  name?: string;
  resource?: AnyResource;
}

/** The lists besides those of the resources. */
export const serviceLists: Shown[] = [
  { group: 'Payments', path: 'webhook-events', label: 'Events' },
  { group: 'Payments', path: 'subscriptions', label: 'Customers', name: 'subscription' },
  { group: 'Access', path: 'keys', label: 'Keys' },
  { group: 'Access', path: 'audit', label: 'Audit log' },
];

const mayCall = ({ scopes }: Actor, { config: { scope } = {} }: RouteOptions) =>
  scope === undefined || scope === 'public' || scopesIn(scope).some(each => scopes.includes(each));

/** The schema behind a reference. */
function target(schema: unknown): TObject {
  const { $ref = '' } = (schema ?? {}) as TSchema;
  return (componentsIn([schema as object]).get($ref.slice(0, -1)) ?? schema ?? Type.Object({})) as TObject;
}

/** Members as the page needs them, in the words of the record: it says by itself what an absent one becomes. */
const brief = (schemas: TProperties, record = schemas) =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, { examples: _, pattern: __, ...member }]) => [
      name,
      { ...member, description: record[name]?.description ?? member.description },
    ]),
  );

/** A route of a list: its method, and what follows the path of the list. */
interface Own {
  method: RouteOptions['method'];
  rest: string;
  schema: RouteOptions['schema'];
}

/** What can be done with a record or a list besides reading and writing it. */
const actionsIn = (own: Own[], url: string) =>
  own
    .filter(({ method, rest }) => method === 'POST' && /^(\/:\w+)?\/[\w-]+$/.test(rest))
    .map(({ rest, schema }) => ({
      path: url + rest.replace(/:\w+/, '{id}'),
      summary: schema?.summary,
      body: schema?.body ? brief(target(schema.body).properties) : null,
    }));

/** What the records of a list belong to, and what belongs to them. */
const relationsOf = ({ parentRelations, childRelations }: AnyResource) => ({
  parents: parentRelations.map(({ member, name, parent }) => ({ member, name, path: parent.path })),
  children: childRelations.map(({ member, name, child, cascade }) => ({
    path: child.path,
    member,
    name,
    isAlways: cascade === 'always',
  })),
});

/**
 * What the page needs to know of a list: the members of its records, its filters, and what this caller may do, all as
 * the routes say it. Undefined if the caller may not read it.
 */
export function describeList(routes: readonly RouteOptions[], actor: Actor, persons: string, shown: Shown) {
  const { group, path, label, name = null, resource } = shown;
  const url = `/api/${path}`;
  const own = routes
    .filter(route => route.url.startsWith(url) && !route.schema?.hide && mayCall(actor, route))
    .map(({ method, schema, ...route }): Own => ({ method, schema, rest: route.url.slice(url.length) }));
  const find = (method: string, pattern: RegExp) =>
    own.find(route => route.method === method && pattern.test(route.rest))?.schema;
  const [all, one] = [/^$/, /^\/:\w+$/];
  const list = find('GET', all) as { response: Record<number, unknown>; querystring: TObject } | undefined;
  if (!list) return undefined;
  const { properties: members } = target(target(list.response[200]).properties.data?.items);
  const create = find('POST', all)?.body;
  const { nouns = label?.toLowerCase() ?? path, noun = nouns.replace(/s$/, '') } = resource ?? {};
  const person = 'userId' in members ? [{ member: 'userId', name: 'userId', path: persons }] : [];
  return {
    group,
    path,
    name: resource?.name ?? name,
    noun,
    nouns,
    label: label ?? nouns,
    title: resource ? titleOf(resource) : null,
    owner: resource?.owner ?? null,
    members: brief(members),
    query: brief(list.querystring.properties),
    create: create ? brief(target(create).properties, members) : null,
    isOpened: find('GET', one) !== undefined,
    isChanged: find('PATCH', one) !== undefined,
    isRemoved: find('DELETE', one) !== undefined,
    ...(resource ? relationsOf(resource) : { parents: person, children: [] }),
    actions: actionsIn(own, url),
  };
}
