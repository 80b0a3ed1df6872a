import { loadSettings } from '../../src/config/settings.ts';
import { type Log, openLog } from '../../src/core/log.ts';
import type { Connection } from '../../src/database/connection.ts';
import { openDatabase } from '../../src/database/open.ts';

interface Options {
  /** Overrides LOG_LEVEL where the log would obscure the output of the command. */
  level?: 'error' | 'warn';
  /** Milliseconds; 0 is no limit. */
  statementTimeout?: number;
}

/** Migrates the configured database, runs work on it, and closes it. */
export async function withDatabase(
  { level, ...options }: Options,
  work: (parts: { db: Connection; log: Log }) => Promise<void>,
): Promise<void> {
  const settings = loadSettings();
  const log = openLog({ LOG_LEVEL: level ?? settings.LOG_LEVEL }, process.stdout.isTTY);
  const database = await openDatabase(settings, log, options);
  try {
    await database.ready;
    await work({ db: database.writes, log });
  } finally {
    await database.close();
  }
}
