import type { Settings } from '../../schemas/settings.ts';
import { statementTimeout } from '../config/timeouts.ts';
import type { Log } from '../core/log.ts';
import type { Database } from './database.ts';
import { openEmbedded } from './embedded/embedded.ts';
import { openPostgres } from './postgres/postgres.ts';

/** The one switch between the two backends. */
export async function openDatabase(settings: Settings, log: Log): Promise<Database> {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: connections, DATABASE_POOLER, DATA_DIR: folder } = settings;
  if (url === undefined) return openEmbedded({ folder }, log);
  const pooled = DATABASE_POOLER === 'transaction';
  return openPostgres({ url, connections, pooled, statementTimeout: statementTimeout(settings) }, log);
}
