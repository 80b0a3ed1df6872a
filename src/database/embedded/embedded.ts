import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import type { Log } from '../../core/log.ts';
import { OperatorError } from '../../core/operatorErrors.ts';
import type { Database, Orm } from '../database.ts';
import { migrate } from '../migrations.ts';
import { openClient } from './client.ts';

/** A folder, or memory. A snapshot is what it holds at first; a folder must then be empty. */
type Place = { folder: string; snapshot?: Blob } | { snapshot: Blob | undefined };

/**
 * Pages that Postgres keeps, besides those that the operating system keeps for it. Its default is 128 MB, which each start
 * would fill with zeros: a third of the time that it takes.
 */
const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];

/** Postgres inside the process: for the first minute and for tests, with nothing installed. */
export async function openEmbedded(place: Place, log: Log): Promise<Database> {
  const release = 'folder' in place ? ownFolder(place.folder) : () => {};
  let room: Room = { isThere: () => true, stop: () => {} };
  let client: PGlite | undefined;
  try {
    if ('folder' in place) room = await watchRoom(place.folder, log);
    client =
      'folder' in place
        ? await openFolder(place, log)
        : await openClient({ startParams, ...from(place.snapshot) });
    const orm = drizzle(client) as unknown as Orm;
    await migrate(orm);
    return opened(client, orm, room, release);
  } catch (error) {
    room.stop();
    await client?.close();
    release();
    throw error;
  }
}

function opened(client: PGlite, orm: Orm, room: Room, release: () => void): Database {
  let closing: Promise<void> | undefined;
  return {
    kind: 'embedded',
    orm,
    reads: orm,
    available: () => !closing && room.isThere(),
    ready: Promise.resolve(),
    ping: async () => void (await client.query('select 1')),
    hasConnections: () => true,
    close: () => {
      // It waits for an open transaction and for the statement at work; later ones are refused.
      room.stop();
      closing ??= client.close().finally(release);
      return closing;
    },
  };
}

interface Room {
  isThere: () => boolean;
  stop: () => void;
}

/** Four segments of Postgres' log. Without room for the next one it stands still, and the whole process with it. */
const reserve = 64 * 1024 * 1024;
const lookEvery = 1000;

/** Looks whether the disk of a folder has room, so that requests are refused before there is none. */
async function watchRoom(folder: string, log: Log): Promise<Room> {
  const look = async () => {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize > reserve;
  };
  let isThere = await look();
  if (!isThere)
    throw new OperatorError(`The disk of ${folder} is full: an embedded Postgres needs 64 MiB of room.`);
  const timer = setInterval(async () => {
    const before = isThere;
    isThere = await look().catch(() => before);
    if (before && !isThere)
      log.error(`The disk of ${folder} is full: requests are refused until there is room.`);
    if (!before && isThere) log.info(`The disk of ${folder} has room again.`);
  }, lookEvery).unref();
  return { isThere: () => isThere, stop: () => clearInterval(timer) };
}

const from = (snapshot: Blob | undefined) => (snapshot ? { loadDataDir: snapshot } : {});

/** All of an open embedded database, as the snapshot that another one can begin with. */
export async function snapshotOf({ orm }: Database): Promise<Blob> {
  const { $client } = orm as unknown as { $client: PGlite };
  return $client.dumpDataDir('gzip');
}

async function openFolder(
  { folder, snapshot }: { folder: string; snapshot?: Blob },
  log: Log,
): Promise<PGlite> {
  const data = join(folder, 'postgres');
  if (snapshot && existsSync(data)) throw new OperatorError(`There is a database in ${folder} already.`);
  if (!existsSync(data)) {
    log.info(`Making an embedded Postgres in ${folder}: this takes a few seconds, once.`);
    // Made beside its place and moved there whole, so that a process killed half way leaves no broken one.
    const unfinished = join(folder, 'postgres.unfinished');
    rmSync(unfinished, { recursive: true, force: true });
    await (await openClient({ dataDir: unfinished, startParams, ...from(snapshot) })).close();
    renameSync(unfinished, data);
  }
  return openClient({ dataDir: data, startParams });
}

/**
 * Makes this process the only one on a folder; two would destroy its data. The lock is one of the operating
 * system, held through an SQLite file: it works on every platform, and a killed process cannot leave it behind.
 */
function ownFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true });
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(folder, 'owner.lock'), { timeout: 0 });
    lock.exec('pragma journal_mode = memory; begin exclusive');
  } catch (cause) {
    lock?.close();
    const { errcode, message } = cause as Error & { errcode?: number };
    throw new OperatorError(
      errcode === busy
        ? `Another process uses the data folder ${folder}. Stop it, or set DATA_DIR or DATABASE_URL.`
        : `The data folder ${folder} cannot be used: ${message}.`,
      { cause },
    );
  }
  return () => lock?.close();
}
/** SQLITE_BUSY */
const busy = 5;
