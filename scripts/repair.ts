import { loadSettings, runCommand } from '../src/command.ts';
import { openLog } from '../src/core/log.ts';
import { openDatabase } from '../src/database/open.ts';
import { repairCounts } from '../src/database/pageQuery.ts';

const usage =
  'npm run repair: counts all lists anew. Needed only after somebody wrote with the triggers switched off.';

async function repair() {
  const settings = loadSettings();
  // 0 is no limit: it reads every row there is.
  const unhurried = { ...settings, STATEMENT_TIMEOUT: 0 };
  const database = await openDatabase(unhurried, openLog(settings, process.stdout.isTTY));
  try {
    await database.ready;
    await repairCounts(database.writes);
  } finally {
    await database.close();
  }
  console.log('All lists are counted anew.');
}

await runCommand({ usage, run: repair });
