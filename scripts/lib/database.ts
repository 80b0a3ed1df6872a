import { loadSettings } from '../../src/config/settings.ts';
import { type Log, openLog } from '../../src/core/log.ts';
import type { Connection } from '../../src/database/connection.ts';
import { openDatabase } from '../../src/database/open.ts';

/** Migrates the configured database, runs work on it, and closes it. `level` is for commands whose output matters. */
export async function withDatabase(
  work: (parts: { db: Connection; log: Log }) => Promise<void>,
  level?: 'error',
): Promise<void> {
  const settings = loadSettings();
  const log = openLog({ LOG_LEVEL: level ?? settings.LOG_LEVEL }, process.stdout.isTTY);
  const database = await openDatabase(settings, log);
  try {
    await database.ready;
    await work({ db: database.writes, log });
  } finally {
    await database.close();
  }
}
