import { graphqlKinds } from './graphql.ts';
import { httpKinds } from './http.ts';
import { socketKinds } from './sockets.ts';
import { webhookKinds } from './webhooks.ts';

/** Each has the number of its finding in its name. */
export const kinds = [...graphqlKinds, ...httpKinds, ...socketKinds, ...webhookKinds].sort(
  (a, b) => Number.parseInt(a.name, 10) - Number.parseInt(b.name, 10),
);
