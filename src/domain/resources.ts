import { peopleFields } from '#plugins/graphql/people.ts';
import { peopleRoutes } from '#plugins/rest/people.ts';
import { offer } from '#src/compose.ts';
import { posts } from './posts.ts';
import { users } from './users.ts';

/** Each has its list under `/api/`. */
export const resources = [
  // In this order in the document, the GraphQL schema and on the first page.
  offer(users, { routes: [peopleRoutes(users)], fields: [peopleFields(users)] }),
  offer(posts),
];
