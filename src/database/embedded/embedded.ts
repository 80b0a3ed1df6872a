import type { Database } from '#src/database/database.ts';
import { migrate } from '#src/database/migrations/migrations.ts';
import type { Log } from '#src/telemetry/log.ts';
import { embeddedConnection } from './client.ts';
import { lockFolder, openFolder, openInMemory, watchDisk } from './folder.ts';

/** Without a folder, the data is in memory. A snapshot is the content of a new database. */
interface Location {
  folder?: string;
  snapshot?: Blob | undefined;
}

/** Postgres inside the process: for the first minute and for tests, with nothing installed. */
export async function openEmbedded({ folder, snapshot }: Location, log: Log): Promise<Database> {
  // Closed again in reverse when a step fails.
  await using opened = new AsyncDisposableStack();
  if (folder !== undefined) opened.defer(lockFolder(folder));
  const disk = folder === undefined ? undefined : await watchDisk(folder, log);
  opened.defer(() => void disk?.close());
  const client =
    folder === undefined ? await openInMemory(snapshot) : await openFolder(folder, snapshot, log);
  opened.defer(() => client.close());
  const connection = embeddedConnection(client);
  await migrate(connection, log);
  const parts = opened.move();
  return {
    kind: 'embedded',
    writes: connection,
    reads: connection,
    dear: connection,
    available: () => !parts.disposed && !disk?.isAway(),
    ready: Promise.resolve(),
    hasConnections: () => true,
    embedded: client,
    // Waits for an open transaction and for the running statement; later ones are refused.
    close: () => parts.disposeAsync(),
  };
}
