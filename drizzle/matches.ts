import type { ApiKey } from '../schemas/apiKey.ts';
import type { AuditEntry } from '../schemas/audit.ts';
import type { Post } from '../schemas/post.ts';
import type { User } from '../schemas/user.ts';
import type { apiKeys, auditLog, posts, users } from './tables.ts';

/** Compiles only when both types have the same members: a table and its schema cannot drift apart. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Holds<T extends true> = T;
type Flat<T> = { [K in keyof T]: T[K] };

export type Matches = [
  Holds<Same<Flat<typeof users.$inferSelect>, Flat<User>>>,
  Holds<Same<Flat<typeof posts.$inferSelect>, Flat<Post>>>,
  Holds<Same<Flat<Omit<typeof apiKeys.$inferSelect, 'secretHash'>>, Flat<ApiKey>>>,
  Holds<Same<Flat<typeof auditLog.$inferSelect>, Flat<AuditEntry>>>,
];
