import type { Settings } from '#schemas/settings.ts';
import type { Connection } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { openDatabase } from '#src/database/open.ts';
import { type Log, openLog } from '#src/telemetry/log.ts';

/** The log of a command. Entries below `level` are left out: they would stand between the command's own lines. */
export const commandLog = (level: 'warn' | 'error' = 'warn'): Log =>
  openLog({ LOG_LEVEL: level }, process.stdout.isTTY);

/** Migrates the database of the settings, runs work on it, and closes it. */
export async function withDatabase(
  settings: Settings,
  work: (parts: { db: Connection; log: Log; database: Database }) => Promise<void>,
  log = commandLog(),
): Promise<void> {
  const database = await openDatabase(settings, log);
  try {
    await database.ready;
    await work({ db: database.writes, log, database });
  } finally {
    await database.close();
  }
}
