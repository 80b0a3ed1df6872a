import type { Settings } from '../../schemas/settings.ts';
import { statementTimeout as timeoutOf } from '../config/timeouts.ts';
import type { Log } from '../core/log.ts';
import type { Database } from './database.ts';
import { openEmbedded } from './embedded/embedded.ts';
import { openPostgres } from './postgres/postgres.ts';

type DatabaseSettings = Pick<
  Settings,
  'DATABASE_URL' | 'DATABASE_POOL_SIZE' | 'DATABASE_POOLER' | 'REQUEST_TIMEOUT' | 'DATA_DIR'
>;

/** The one switch between the two backends. `statementTimeout` is in milliseconds; 0 is no limit. */
export async function openDatabase(
  settings: DatabaseSettings,
  log: Log,
  { statementTimeout = timeoutOf(settings) } = {},
): Promise<Database> {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: connections } = settings;
  const pooled = settings.DATABASE_POOLER === 'transaction';
  return url === undefined
    ? openEmbedded({ folder: settings.DATA_DIR }, log)
    : openPostgres({ url, connections, pooled, statementTimeout }, log);
}
