import type { PGlite } from '@electric-sql/pglite';
import type { Log } from '../../core/log.ts';
import type { Database } from '../database.ts';
import { migrate } from '../migrations.ts';
import { connectionOf } from './client.ts';
import { type DiskWatch, watchDisk } from './disk.ts';
import { lockFolder, openFolder, openInMemory } from './folder.ts';

/** Where the data is; memory without a folder. A snapshot is what it holds at first: a folder must then be empty. */
interface Location {
  folder?: string;
  snapshot?: Blob | undefined;
}

/** Postgres inside the process: for the first minute and for tests, with nothing installed. */
export async function openEmbedded({ folder, snapshot }: Location, log: Log): Promise<Database> {
  if (folder === undefined) {
    const client = await openInMemory(snapshot);
    return migrated(
      client,
      () => true,
      () => client.close(),
    );
  }
  const unlock = lockFolder(folder);
  let disk: DiskWatch | undefined;
  let client: PGlite | undefined;
  const close = async () => {
    disk?.stop();
    await client?.close().finally(unlock);
  };
  try {
    disk = await watchDisk(folder, log);
    client = await openFolder(folder, snapshot, log);
    return await migrated(client, disk.hasSpace, close);
  } catch (error) {
    await close();
    unlock();
    throw error;
  }
}

async function migrated(
  client: PGlite,
  hasSpace: () => boolean,
  close: () => Promise<void>,
): Promise<Database> {
  const connection = connectionOf(client);
  await migrate(connection);
  let closing: Promise<void> | undefined;
  return {
    kind: 'embedded',
    writes: connection,
    reads: connection,
    available: () => !closing && hasSpace(),
    ready: Promise.resolve(),
    ping: async () => void (await client.query('select 1')),
    hasConnections: () => true,
    embedded: client,
    // Waits for an open transaction and for the statement at work; later ones are refused.
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
