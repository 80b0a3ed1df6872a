import type { WebhookEvent } from '../schemas/event.ts';
import type { Post } from '../schemas/post.ts';
import type { Subscription } from '../schemas/subscription.ts';
import type { User } from '../schemas/user.ts';
import type * as tables from './tables.ts';

/** Compiles only when both types have the same members: a table and its schema cannot drift apart. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Holds<T extends true> = T;
type Flat<T> = { [K in keyof T]: T[K] };

/** The columns of an event that no list shows. */
type Inside = 'fingerprint' | 'body' | 'replays' | 'failures';

export type Matches = [
  Holds<Same<Flat<typeof tables.users.$inferSelect>, Flat<User>>>,
  Holds<Same<Flat<typeof tables.posts.$inferSelect>, Flat<Post>>>,
  Holds<Same<Flat<Omit<typeof tables.subscriptions.$inferSelect, 'id'>>, Flat<Subscription>>>,
  Holds<Same<Flat<Omit<typeof tables.webhookEvents.$inferSelect, Inside>>, Flat<WebhookEvent>>>,
];
