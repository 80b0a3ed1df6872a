import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PGlite } from '@electric-sql/pglite';
import { OperatorError } from '#src/core/errors.ts';
import { repeat } from '#src/database/repeat.ts';
import type { Log } from '#src/telemetry/log.ts';
import { openClient } from './client.ts';

/** Each start fills the buffers with zeros, which takes a third of its time with the default of 128 MB. */
const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];

const from = (snapshot: Blob | undefined) => (snapshot ? { loadDataDir: snapshot } : {});

/** A database in memory, from the snapshot. */
export const openInMemory = (snapshot: Blob | undefined): Promise<PGlite> =>
  openClient({ startParams, ...from(snapshot) });

/** The database in a folder; a new one starts from the snapshot. */
export async function openFolder(folder: string, snapshot: Blob | undefined, log: Log): Promise<PGlite> {
  const data = join(folder, 'postgres');
  if (snapshot && existsSync(data)) throw new OperatorError(`There is already a database in ${folder}.`);
  if (!existsSync(data)) {
    log.info(`A new database is created in ${folder}, which takes a few seconds.`);
    // The database is created under another name and renamed: a process killed halfway leaves no broken database.
    const unfinished = join(folder, 'postgres.unfinished');
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { mode: 0o700 });
    await (await openClient({ dataDir: unfinished, startParams, ...from(snapshot) })).close();
    renameSync(unfinished, data);
  }
  chmodSync(data, 0o700);
  const client = await openClient({ dataDir: data, startParams });
  // The files of a new database have the mode 0666, whatever the umask is.
  for (const file of readdirSync(data, { recursive: true, withFileTypes: true }))
    if (!file.isSymbolicLink())
      chmodSync(join(file.parentPath, file.name), file.isDirectory() ? 0o700 : 0o600);
  return client;
}

/**
 * Makes this process the only one in a folder; two would destroy its data. An SQLite file holds a lock of the operating
 * system: that works on every platform, and a killed process cannot leave it behind.
 */
export function lockFolder(folder: string): () => void {
  // A folder that exists keeps its mode, because it may hold more than the database.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(folder, 'owner.lock'), { timeout: 0 });
    chmodSync(join(folder, 'owner.lock'), 0o600);
    lock.exec('pragma journal_mode = memory; begin exclusive');
  } catch (cause) {
    lock?.close();
    const { errcode, message } = cause as Error & { errcode?: number };
    throw new OperatorError(
      errcode === sqliteBusy
        ? `Another process uses the data folder ${folder}. Stop it, or set DATA_DIR or DATABASE_URL.`
        : `The data folder ${folder} cannot be used: ${message}.`,
      { cause },
    );
  }
  return () => lock?.close();
}
const sqliteBusy = 5;

/** Bytes of four segments of Postgres' log. The whole process stops when there is no space for the next segment. */
const reserve = 64 * 1024 * 1024;

/** Watches the disk of a folder, so that requests are refused before it is full. Fails if it already is. */
export async function watchDisk(folder: string, log: Log) {
  const check = async () => {
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize <= reserve)
      throw new OperatorError(`The disk of ${folder} is full: embedded Postgres needs 64 MiB of free space.`);
  };
  await check();
  const away = `The disk of ${folder} is full or cannot be read: requests are refused until there is space.`;
  const back = `The disk of ${folder} has space again.`;
  return repeat({ work: check, every: 1000, log, away, back });
}
