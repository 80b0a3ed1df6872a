import { readFileSync } from 'node:fs';
import { OperatorError } from '../../core/errors.ts';
import type { Connection } from '../connection.ts';
import { inLongTransaction } from '../write.ts';
import { asOwner } from './migrations.ts';

const statements = new URL('../../../drizzle/spread.sql', import.meta.url);

/** Spreads the tables that grow over the nodes of Citus, all or none; returns false when they were spread before. */
export async function spread(db: Connection): Promise<boolean> {
  const [[hasCitus] = []] = await db.rows(`select 1 from pg_extension where extname = 'citus'`, []);
  if (!hasCitus)
    throw new OperatorError(
      'The database has no Citus. On every node run `create extension citus` in it; docs/scaling.md has the steps.',
    );
  return asOwner(db, () => inLongTransaction(db, spreadTables));
}

async function spreadTables(inside: Connection): Promise<boolean> {
  // Of two calls at once, the second waits here.
  await inside.rows('lock table webhook_events', []);
  const [isSpread] = await inside.rows(
    `select 1 from pg_dist_partition where logicalrelid = 'webhook_events'::regclass and partmethod = 'h'`,
    [],
  );
  if (isSpread) return false;
  await inside.rows(readFileSync(statements, 'utf8'), []);
  return true;
}
