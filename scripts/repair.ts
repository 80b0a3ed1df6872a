import { existsSync } from 'node:fs';
import { readSettings } from '../src/core/config.ts';
import { openLog } from '../src/core/log.ts';
import { openDatabase } from '../src/core/openDatabase.ts';
import { repairCounts } from '../src/core/positions.ts';

/** `npm run repair`: counts all lists anew. Needed only after somebody wrote with the triggers switched off. */
if (existsSync('.env')) process.loadEnvFile('.env');
const settings = readSettings(process.env);
// 0 is no limit: it reads every row there is.
const unhurried = { ...settings, STATEMENT_TIMEOUT: 0 };
const database = await openDatabase(unhurried, openLog(settings, process.stdout.isTTY));
await database.ready;
await repairCounts(database.orm);
await database.close();
console.log('All lists are counted anew.');
