import { changeFields } from '../plugins/graphql/changes.ts';
import { peopleFields } from '../plugins/graphql/people.ts';
import { resourceFields } from '../plugins/graphql/resource.ts';
import { subscriptionFields } from '../plugins/graphql/subscriptions.ts';
import { peopleRoutes } from '../plugins/rest/people.ts';
import { resourceRoutes } from '../plugins/rest/resource.ts';
import { subscriptionRoutes } from '../plugins/rest/subscriptions.ts';
import { changeOf } from '../schemas/change.ts';
import { posts } from './services/posts.ts';
import { relate } from './services/resource.ts';
import { subscription } from './services/subscriptions/read.ts';
import { users } from './services/users.ts';

/**
 * The resources, in the order of the document, the GraphQL schema and the first page: `/api/users`, `/api/posts` and
 * so on. A new one is added only here. A resource may have other routes and fields besides these, or only others.
 */
export const resources = [
  {
    ...users,
    routes: [resourceRoutes(users), peopleRoutes],
    fields: [...resourceFields(users), peopleFields],
  },
  { ...posts, routes: [resourceRoutes(posts)], fields: resourceFields(posts) },
  // Webhooks write them, so there are no operations.
  { resource: subscription, routes: [subscriptionRoutes], fields: subscriptionFields },
];

/** What each is; its changes can be followed. */
export const followed = resources.map(({ resource }) => resource);

export const change = changeOf(followed);

/** The schema of GraphQL. */
export const graphqlParts = [...resources.flatMap(({ fields }) => fields), ...changeFields(followed)];

/** The resources with a table of their own: the audit log names them, and `/` counts them. */
export const recordResources = resources.flatMap(({ resource }) => ('table' in resource ? resource : []));
relate(recordResources);
