import { graphqlKinds } from './graphql.ts';
import { httpKinds } from './http.ts';
import { socketKinds } from './sockets.ts';
import { webhookKinds } from './webhooks.ts';

/** The name of each begins with a number, which sorts them. */
export const kinds = [...graphqlKinds, ...httpKinds, ...socketKinds, ...webhookKinds].sort(
  (a, b) => Number.parseInt(a.name, 10) - Number.parseInt(b.name, 10),
);
