import { posts } from '../plugins/graphql/resources/posts.ts';
import { subscriptions } from '../plugins/graphql/resources/subscriptions.ts';
import { users } from '../plugins/graphql/resources/users.ts';
import { postRoutes } from '../plugins/rest/posts.ts';
import { subscriptionRoutes } from '../plugins/rest/subscriptions.ts';
import { userRoutes } from '../plugins/rest/users.ts';
import { Post } from '../schemas/post.ts';
import { Subscription } from '../schemas/subscription.ts';
import { User } from '../schemas/user.ts';
import { post } from './services/posts.ts';
import { user } from './services/users.ts';

/** The resources, in the order of the document, the GraphQL schema and the first page. A new one is added here alone. */
export const resources = [
  { name: 'users', kind: user, record: User, routes: userRoutes, graphql: users },
  { name: 'posts', kind: post, record: Post, routes: postRoutes, graphql: posts },
  // Webhooks write them.
  { name: 'subscriptions', record: Subscription, routes: subscriptionRoutes, graphql: subscriptions },
];

/** The kinds of records that clients write. */
export const kinds = resources.flatMap(({ kind }) => kind ?? []);
