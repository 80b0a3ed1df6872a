import { loadSettings, runCommand } from '../src/command.ts';
import { openLog } from '../src/core/log.ts';
import { openDatabase } from '../src/database/open.ts';

const usage = 'npm run migrate: brings the database up to date and ends. It waits for a server that is away.';

async function migrate() {
  const settings = loadSettings();
  const database = await openDatabase(settings, openLog(settings, process.stdout.isTTY));
  try {
    await database.ready;
    console.log('The database is up to date.');
  } finally {
    await database.close();
  }
}

await runCommand({ usage, run: migrate });
