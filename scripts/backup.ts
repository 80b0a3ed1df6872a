import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { serviceName } from '#schemas/name.ts';
import { type Io, mainOf, UsageError } from '#src/command.ts';
import { OperatorError } from '#src/core/errors.ts';
import { ticking } from '#src/core/progress.ts';
import type { Database } from '#src/database/database.ts';
import { withDatabase } from './lib/database.ts';
import { runPgTool } from './lib/pgTools.ts';

const usage = `npm run backup -- <file>: writes the whole database of the settings to a file. A PostgreSQL server may be in use
meanwhile, unless it has Citus; DATABASE_URL must not lead to a pooler. A service on an embedded database must be stopped first, because its folder has one owner.

Example: DATABASE_URL=postgres://user:password@host:5432/${serviceName} npm run backup -- monday.backup`;

async function backup({ positionals: [file] }: { positionals: string[] }, io: Io) {
  if (!file) throw new UsageError('Name the file to write');
  if (existsSync(file)) throw new OperatorError(`${file} already exists: a backup is never overwritten.`);
  const settings = io.settings();
  const { DATABASE_URL: url, DATA_DIR: folder } = settings;
  if (!url && !existsSync(`${folder}/postgres`))
    throw new OperatorError(`There is no database in ${folder}.`);
  // Lets only the owner read the file, which has all data of the database.
  const umask = process.umask(0o077);
  // The file is renamed when complete, so that a partial backup never looks like a backup.
  const unfinished = `${file}.unfinished`;
  try {
    if (url) await dump(url, unfinished, io);
    else await withDatabase(settings, io, ({ database }) => writeSnapshot(database, unfinished, io));
    renameSync(unfinished, file);
  } finally {
    process.umask(umask);
    rmSync(unfinished, { force: true });
  }
  io.out(`${file}: ${(statSync(file).size / 1024).toFixed(0)} KiB.`);
}

async function dump(url: string, file: string, io: Io): Promise<void> {
  const show = () => {
    const { size = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
    io.progress(`Writing the database: ${(size / 2 ** 20).toFixed(1)} MiB`);
  };
  await ticking(show, () => runPgTool('pg_dump', ['--format=custom', `--file=${file}`], url, io));
}

async function writeSnapshot({ embedded }: Database, file: string, io: Io): Promise<void> {
  io.progress('Writing the database …');
  const snapshot = await embedded?.dumpDataDir('gzip');
  if (snapshot) writeFileSync(file, Buffer.from(await snapshot.arrayBuffer()));
}

export const main = await mainOf(import.meta, { usage, most: 1, run: backup });
