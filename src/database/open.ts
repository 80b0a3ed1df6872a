import type { Settings } from '../../schemas/settings.ts';
import type { Log } from '../core/log.ts';
import type { Database } from './database.ts';
import { openEmbedded } from './embedded/embedded.ts';
import { openPostgres } from './postgres/postgres.ts';
import { withSpans } from './tracedConnection.ts';

type DatabaseSettings = Pick<
  Settings,
  'DATABASE_URL' | 'DATABASE_POOL_SIZE' | 'DATABASE_POOLER' | 'STATEMENT_TIMEOUT' | 'DATA_DIR'
>;

/** The one switch between the two backends. */
export async function openDatabase(settings: DatabaseSettings, log: Log): Promise<Database> {
  const database = await openBackend(settings, log);
  return { ...database, writes: withSpans(database.writes), reads: withSpans(database.reads) };
}

async function openBackend(settings: DatabaseSettings, log: Log): Promise<Database> {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: connections } = settings;
  if (url === undefined) return openEmbedded({ folder: settings.DATA_DIR }, log);
  const { STATEMENT_TIMEOUT: statementTimeout } = settings;
  return openPostgres(
    { url, connections, pooled: settings.DATABASE_POOLER === 'transaction', statementTimeout },
    log,
  );
}
