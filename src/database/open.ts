import type { Settings } from '../../schemas/settings.ts';
import type { Log } from '../core/log.ts';
import type { Database } from './database.ts';
import { openEmbedded } from './embedded/embedded.ts';
import { serverOf } from './postgres/client.ts';
import { openPostgres } from './postgres/postgres.ts';

/** The one switch between the two backends. */
export async function openDatabase(settings: Settings, log: Log): Promise<Database> {
  const { DATABASE_URL: url, DATA_DIR: folder } = settings;
  if (url === undefined) return openEmbedded({ folder }, log);
  return openPostgres(serverOf(settings, url), log);
}
