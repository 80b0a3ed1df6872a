import { peopleFields } from '../../plugins/graphql/people.ts';
import { resourceFields } from '../../plugins/graphql/resource.ts';
import { peopleRoutes } from '../../plugins/rest/people.ts';
import { resourceRoutes } from '../../plugins/rest/resource.ts';
import { posts } from './posts.ts';
import { users } from './users.ts';

/**
 * Each has its list under `/api/`, in this order in the document, the GraphQL schema and the first page. A resource may
 * have other routes and fields besides these, or only others.
 */
export const resources = [
  {
    ...users,
    routes: [resourceRoutes(users), peopleRoutes(users)],
    fields: [...resourceFields(users), peopleFields(users)],
  },
  { ...posts, routes: [resourceRoutes(posts)], fields: resourceFields(posts) },
];
