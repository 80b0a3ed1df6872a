import type { Orm } from './database.ts';

/** What a service function is given besides its input. Whether `db` is a transaction, it cannot tell. */
export interface Context {
  readonly db: Orm;
  readonly now: () => Date;
}
