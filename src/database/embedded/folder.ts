import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PGlite } from '@electric-sql/pglite';
import { OperatorError } from '#src/core/errors.ts';
import { watchService } from '#src/database/watch.ts';
import type { Log } from '#src/telemetry/log.ts';
import { openClient } from './client.ts';

/** Each start fills the buffers with zeros: with the default of 128 MB, that is a third of its time. */
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
    log.info(`Creating an embedded Postgres in ${folder}: this takes a few seconds, once.`);
    // Created under another name and then renamed, so that a process killed half way leaves no broken one.
    const unfinished = join(folder, 'postgres.unfinished');
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { mode: 0o700 });
    await (await openClient({ dataDir: unfinished, startParams, ...from(snapshot) })).close();
    renameSync(unfinished, data);
  }
  chmodSync(data, 0o700);
  const client = await openClient({ dataDir: data, startParams });
  // A new database has files with 0666, whatever the umask.
  for (const file of readdirSync(data, { recursive: true, withFileTypes: true }))
    if (!file.isSymbolicLink())
      chmodSync(join(file.parentPath, file.name), file.isDirectory() ? 0o700 : 0o600);
  return client;
}

/**
 * Makes this process the only one on a folder; two would destroy its data. An SQLite file holds a lock of the operating
 * system: that works on every platform, and a killed process cannot leave it behind.
 */
export function lockFolder(folder: string): () => void {
  // One that is there may hold more than ours, so its own mode stays.
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

/** Four segments of Postgres' log. Without space for the next one, the whole process stops. */
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
  return watchService({ check, every: 1000, log, away, back });
}
