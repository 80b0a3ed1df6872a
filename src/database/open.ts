import type { Settings } from '#schemas/settings.ts';
import type { Report } from '#src/core/progress.ts';
import type { Log } from '#src/telemetry/log.ts';
import { announced } from './announcements/announced.ts';
import type { Database } from './database.ts';

/**
 * Opens the database, whose writes are announced to followers. The log says how far long migrations are, unless there
 * is a report for that.
 */
export async function openDatabase(settings: Settings, log: Log, report?: Report): Promise<Database> {
  const { REDIS_URL: url } = settings;
  const database = await openBackend(settings, log, report);
  if (url === undefined) return announced(database);
  // Redis carries all messages, because a pooler in transaction mode would lose notifications.
  const messages = (await import('./announcements/redisMessages.ts')).openRedisMessages(url);
  const close = () => {
    messages.close();
    return database.close();
  };
  return { ...announced({ ...database, messages }), close };
}

/** The one switch between the two backends, each of which is only loaded when it is used. */
async function openBackend(settings: Settings, log: Log, report?: Report): Promise<Database> {
  const { DATABASE_URL: url, DATA_DIR: folder } = settings;
  if (url === undefined)
    return (await import('./embedded/embedded.ts')).openEmbedded({ folder }, log, report);
  const [{ openPostgres }, { serverFrom }] = await Promise.all([
    import('./postgres/postgres.ts'),
    import('./postgres/client.ts'),
  ]);
  return openPostgres(serverFrom(settings), log, report);
}
