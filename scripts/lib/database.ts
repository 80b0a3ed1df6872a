import type { Settings } from '#schemas/settings.ts';
import type { Io } from '#src/command.ts';
import type { Connection } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { openDatabase } from '#src/database/open.ts';
import { type Log, openLog } from '#src/telemetry/log.ts';

/** The log of a command. Entries below `level` are left out: they would stand between the command's own lines. */
export const commandLog = (level: 'warn' | 'error' = 'warn'): Log =>
  openLog({ LOG_LEVEL: level }, process.stdout.isTTY);

/** Migrates the database of the settings, runs work on it, and closes it. Shows the progress of the migration. */
export async function withDatabase(
  settings: Settings,
  { progress }: Pick<Io, 'progress'>,
  work: (parts: { db: Connection; log: Log; database: Database }) => Promise<void>,
  log = commandLog(),
): Promise<void> {
  if (!settings.DATABASE_URL) progress('Opening the database …');
  const database = await openDatabase(settings, log, progress);
  try {
    await database.ready;
    progress('');
    await work({ db: database.writes, log, database });
  } finally {
    await database.close();
  }
}
