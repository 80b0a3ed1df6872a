import { resourceFields } from '../plugins/graphql/resource.ts';
import { subscriptionFields } from '../plugins/graphql/subscriptions.ts';
import { resourceRoutes } from '../plugins/rest/resource.ts';
import { subscriptionRoutes } from '../plugins/rest/subscriptions.ts';
import { posts } from './services/posts.ts';
import { subscription } from './services/subscriptions/read.ts';
import { users } from './services/users.ts';

/**
 * The resources, in the order of the document, the GraphQL schema and the first page: `/api/users`, `/api/posts` and so on. A
 * new one is added only here. Routes and fields of its own can stand beside those that every resource has, or without them.
 */
export const resources = [
  { ...users, routes: [resourceRoutes(users)], fields: resourceFields(users) },
  { ...posts, routes: [resourceRoutes(posts)], fields: resourceFields(posts) },
  // Webhooks write them.
  { resource: subscription, routes: [subscriptionRoutes], fields: subscriptionFields },
];

/** Those whose records clients read by their ids. */
export const recordResources = resources.flatMap(({ resource }) => ('table' in resource ? resource : []));
