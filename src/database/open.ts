import type { Settings } from '../../schemas/settings.ts';
import type { Log } from '../core/log.ts';
import type { Database } from './database.ts';

/** The one switch between the two backends, each of which is only loaded when it is used. */
export async function openDatabase(settings: Settings, log: Log): Promise<Database> {
  const { DATABASE_URL: url, DATA_DIR: folder } = settings;
  if (url === undefined) return (await import('./embedded/embedded.ts')).openEmbedded({ folder }, log);
  const [{ openPostgres }, { serverOf }] = await Promise.all([
    import('./postgres/postgres.ts'),
    import('./postgres/client.ts'),
  ]);
  return openPostgres(serverOf(settings, url), log);
}
