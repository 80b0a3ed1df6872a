import { runCommand } from '../src/command.ts';
import { withDatabase } from './lib/database.ts';

const usage =
  'npm run migrate: brings the database of the settings up to date and exits. It waits for a server that is away.';

await runCommand({
  usage,
  run: () => withDatabase(async () => console.log('The database is up to date.')),
});
