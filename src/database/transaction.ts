import type { Connection } from './connection.ts';
import { patience } from './write.ts';

/** First in a transaction that must not be tried again for a lock. */
export const waitLongerForLocks = (inside: Connection) =>
  inside.rows(`select set_config('lock_timeout', '${patience}', true)`, []);

/** First in a transaction that must see what others committed while it waited for a lock, whatever the default is. */
export const readCommitted = (inside: Connection) =>
  inside.rows('set transaction isolation level read committed', []);

/** First in a transaction that may take longer than any request. */
export const withoutTimeouts = (inside: Connection) =>
  inside.rows(
    `select set_config(name, '0', true) from unnest(array['statement_timeout', 'lock_timeout']) as name`,
    [],
  );
