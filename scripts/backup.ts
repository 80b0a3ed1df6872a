import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { loadSettings, runCommand, UsageError } from '../src/command.ts';
import { openLog } from '../src/core/log.ts';
import { OperatorError } from '../src/core/operatorErrors.ts';
import { openEmbedded } from '../src/database/embedded/embedded.ts';
import { runPgTool } from './pgTools.ts';

const usage = `npm run backup -- <file>: everything in the database of the settings, as one file. A PostgreSQL server may be
at work meanwhile; the service on an embedded folder must be stopped, because a folder has one owner.`;

async function backup({ positionals: [file] }: { positionals: string[] }) {
  if (!file) throw new UsageError('Name the file to write');
  if (existsSync(file))
    throw new OperatorError(`${file} already exists: an older backup is never written over.`);
  const settings = loadSettings();
  // For its owner alone: it has all that the database has.
  process.umask(0o077);
  // Past a pooler, which a dump does not get through.
  const url = settings.QUEUE_DATABASE_URL ?? settings.DATABASE_URL;
  // Under another name until it is whole: half a backup must not look like one.
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
  const database = await openEmbedded(
    { folder },
    openLog({ LOG_LEVEL: 'warn', LOG_FORMAT: 'pretty' }, false),
  );
  try {
    const snapshot = await database.embedded?.dumpDataDir('gzip');
    if (snapshot) writeFileSync(file, Buffer.from(await snapshot.arrayBuffer()));
  } finally {
    await database.close();
  }
}

await runCommand({ usage, most: 1, run: backup });
