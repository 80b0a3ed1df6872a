import { peopleFields } from '#plugins/graphql/people.ts';
import { peopleRoutes } from '#plugins/rest/people.ts';
import { offer } from '#src/compose.ts';
import { posts } from './posts.ts';
import { users } from './users.ts';

/** Each has its list under `/api/`. */
export const resources = [
  // The document, the GraphQL schema and the first page have this order.
  offer(users, { routes: [peopleRoutes(users)], fields: [peopleFields(users)] }),
  offer(posts),
];
