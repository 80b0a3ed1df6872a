import { existsSync } from 'node:fs';
import { readSettings } from '../src/core/config.ts';
import { openLog } from '../src/core/log.ts';
import { openDatabase } from '../src/core/openDatabase.ts';

/** `npm run migrate`: brings the database up to date and ends. It waits for a server that is away. */
if (existsSync('.env')) process.loadEnvFile('.env');
const settings = readSettings(process.env);
const database = await openDatabase(settings, openLog(settings, process.stdout.isTTY));
try {
  await database.ready;
  console.log('The database is up to date.');
} finally {
  await database.close();
}
