import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import type { Database, Orm } from './database.ts';
import type { Log } from './log.ts';
import { migrate } from './migrations.ts';

/** A folder, or memory. A snapshot is what it holds at first; a folder must then be empty. */
type Place = { folder: string; snapshot?: Blob } | { snapshot: Blob | undefined };

/** Postgres inside the process: for the first minute and for tests, with nothing installed. */
export async function openEmbedded(place: Place, log: Log): Promise<Database> {
  const release = 'folder' in place ? ownFolder(place.folder) : () => {};
  let client: PGlite | undefined;
  try {
    client = 'folder' in place ? await openFolder(place, log) : await PGlite.create(from(place.snapshot));
    const orm = drizzle(client) as unknown as Orm;
    await migrate(orm);
    return opened(client, orm, release);
  } catch (error) {
    await client?.close();
    release();
    throw error;
  }
}

function opened(client: PGlite, orm: Orm, release: () => void): Database {
  let closing: Promise<void> | undefined;
  return {
    kind: 'embedded',
    orm,
    available: () => !closing,
    ready: Promise.resolve(),
    ping: async () => void (await client.query('select 1')),
    close: () => {
      // It waits for an open transaction and for the statement at work; later ones are refused.
      closing ??= client.close().finally(release);
      return closing;
    },
  };
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
  if (snapshot && existsSync(data)) throw new Error(`There is a database in ${folder} already.`);
  if (!existsSync(data)) {
    log.info(`Making an embedded Postgres in ${folder}: this takes a few seconds, once.`);
    // Made beside its place and moved there whole, so that a process killed half way leaves no broken one.
    const unfinished = join(folder, 'postgres.unfinished');
    rmSync(unfinished, { recursive: true, force: true });
    await (await PGlite.create(unfinished, from(snapshot))).close();
    renameSync(unfinished, data);
  }
  return PGlite.create(data);
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
    throw new Error(
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
