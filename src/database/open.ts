import type { Settings } from '../../schemas/settings.ts';
import type { Log } from '../core/log.ts';
import type { Database } from './database.ts';
import { openEmbedded } from './embedded/embedded.ts';
import { openPostgres } from './postgres/postgres.ts';

type DatabaseSettings = Pick<
  Settings,
  | 'DATABASE_URL'
  | 'DATABASE_POOL_SIZE'
  | 'DATABASE_POOL_WAIT'
  | 'DATABASE_POOLER'
  | 'STATEMENT_TIMEOUT'
  | 'DATA_DIR'
>;

/** The one switch between the two backends. */
export async function openDatabase(settings: DatabaseSettings, log: Log): Promise<Database> {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: connections } = settings;
  if (url === undefined) return openEmbedded({ folder: settings.DATA_DIR }, log);
  const { STATEMENT_TIMEOUT: statementTimeout, DATABASE_POOL_WAIT: wait } = settings;
  const pooled = settings.DATABASE_POOLER === 'transaction';
  return openPostgres({ url, connections, pooled, statementTimeout, wait }, log);
}
