import type { Static } from '@sinclair/typebox';
import type { FastifyPluginAsync } from 'fastify';
import { changeFields } from '#plugins/graphql/changes.ts';
import { resourceFields } from '#plugins/graphql/resource.ts';
import type { SchemaPart } from '#plugins/graphql/schema.ts';
import { subscriptionFields } from '#plugins/graphql/subscriptions.ts';
import { resourceRoutes } from '#plugins/rest/resource.ts';
import { subscriptionRoutes } from '#plugins/rest/subscriptions.ts';
import { changeSchema } from '#schemas/service/change.ts';
import type { Settings } from '#schemas/settings.ts';
import type { Effects, Typed } from './effects/effect.ts';
import type { Job } from './jobs.ts';
import { type AnyResource, type Operations, relate } from './records/resource.ts';
import { subscription } from './subscriptions/read.ts';
import type { Handlers } from './webhooks/handler.ts';

/** A Fastify plugin of the application, such as routes of its own. */
type Plugin = FastifyPluginAsync<{ settings: Settings }>;

/** What the service offers of a resource. */
type Offered = Operations & { routes: Plugin[]; fields: SchemaPart[] };

/** Offers a resource over REST and GraphQL, with routes and fields of its own besides those that all have. */
export const offer = <O extends Operations>(
  operations: O,
  { routes = [], fields = [] }: Partial<Pick<Offered, 'routes' | 'fields'>> = {},
): Offered & Typed<O['resource']['name'], Static<O['resource']['contract']['record']>> => ({
  ...operations,
  routes: [resourceRoutes(operations), ...routes],
  fields: [...resourceFields(operations), ...fields],
});

/** Everything that one application adds to the service, passed to the rest of `src` and `plugins`. */
interface Domain {
  /** Their order is that of the document, the GraphQL schema and the first page. */
  resources: Offered[];
  /** What events do, by the preset of their provider and by their type. */
  handlers: Handlers;
  /** What happens after changes, by their names. */
  effects: Effects;
  /** Pages, and how the first page links to each. */
  pages: { name: string; path: string; text: string; page: Plugin }[];
  jobs: Job[];
}

/** Adds what each application has: subscriptions, and the changes of all resources. */
export function compose({ resources, ...others }: Domain) {
  const records = resources.map(({ resource }) => resource);
  relate(records);
  // Webhooks write subscriptions: these have no operations.
  const subscriptions = { resource: subscription, routes: [subscriptionRoutes], fields: subscriptionFields };
  const all = [...resources, subscriptions];
  const followed = all.map(({ resource }) => resource);
  return {
    ...others,
    resources,
    /** The resources of the application: the audit log can be filtered by them. */
    records,
    /** The resource in examples: the first that belongs to another, because it has most to show. */
    example: (records.find(each => each.parentRelations.length > 0) ?? records[0]) as AnyResource,
    /** The resource that somebody creates first: it needs no other. */
    first: (resources.find(({ create, resource }) => create && resource.parentRelations.length === 0)
      ?.resource ?? records[0]) as AnyResource,
    routes: all.flatMap(({ routes }): Plugin[] => routes),
    /** All resources, whose changes clients can follow. */
    followed,
    change: changeSchema(followed),
    /** The parts of the GraphQL schema. */
    fields: [...all.flatMap(({ fields }) => fields), ...changeFields(followed)],
  };
}
