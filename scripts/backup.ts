import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { runCommand, UsageError } from '../src/command.ts';
import { loadSettings } from '../src/config/settings.ts';
import { OperatorError } from '../src/core/errors.ts';
import { openLog } from '../src/core/log.ts';
import { openEmbedded } from '../src/database/embedded/embedded.ts';
import { runPgTool } from './lib/pgTools.ts';
import { announce } from './lib/progress.ts';

const usage = `npm run backup -- <file>: writes the whole database of the settings to a file. A PostgreSQL server may be in use
meanwhile, unless it has Citus; DATABASE_URL must not lead to a pooler. A service on an embedded database must be stopped first, because its folder has one owner.

Example: DATABASE_URL=postgres://user:password@host:5432/triport npm run backup -- monday.backup`;

async function backup({ positionals: [file] }: { positionals: string[] }) {
  if (!file) throw new UsageError('Name the file to write');
  if (existsSync(file)) throw new OperatorError(`${file} already exists: a backup is never overwritten.`);
  const settings = loadSettings();
  // Only the owner may read it: it has all data of the database.
  process.umask(0o077);
  const { DATABASE_URL: url } = settings;
  announce(`Writing the database to ${file}`);
  // Renamed when complete, so that a partial backup never looks like a backup.
  const unfinished = `${file}.unfinished`;
  try {
    if (url) runPgTool('pg_dump', ['--format=custom', `--file=${unfinished}`], url);
    else await writeSnapshot(settings.DATA_DIR, unfinished);
    renameSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
  console.log(`${file}: ${(statSync(file).size / 1024).toFixed(0)} KiB.`);
}

async function writeSnapshot(folder: string, file: string): Promise<void> {
  if (!existsSync(`${folder}/postgres`)) throw new OperatorError(`There is no database in ${folder}.`);
  const log = openLog({ LOG_LEVEL: 'warn' }, process.stdout.isTTY);
  const database = await openEmbedded({ folder }, log);
  try {
    const snapshot = await database.embedded?.dumpDataDir('gzip');
    if (snapshot) writeFileSync(file, Buffer.from(await snapshot.arrayBuffer()));
  } finally {
    await database.close();
  }
}

await runCommand({ usage, most: 1, run: backup });
