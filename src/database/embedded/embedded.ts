import type { Report } from '#src/core/progress.ts';
import type { Database } from '#src/database/database.ts';
import { migrate } from '#src/database/migrations/migrations.ts';
import type { Log } from '#src/telemetry/log.ts';
import { embeddedConnection } from './client.ts';
import { lockFolder, openFolder, openInMemory, watchDisk } from './folder.ts';

/** The data is in memory if there is no folder. A snapshot is the content of a new database. */
interface Location {
  folder?: string;
  snapshot?: Blob | undefined;
}

/** Opens Postgres inside the process, which needs no installation: for a first try and for tests. */
export async function openEmbedded(
  { folder, snapshot }: Location,
  log: Log,
  report?: Report,
): Promise<Database> {
  // When a step fails, what was opened is closed in reverse order.
  await using opened = new AsyncDisposableStack();
  if (folder !== undefined) opened.defer(lockFolder(folder));
  const disk = folder === undefined ? undefined : await watchDisk(folder, log);
  opened.defer(() => void disk?.close());
  const client =
    folder === undefined ? await openInMemory(snapshot) : await openFolder(folder, snapshot, log);
  opened.defer(() => client.close());
  const connection = embeddedConnection(client);
  await migrate(connection, log, { report });
  const parts = opened.move();
  return {
    kind: 'embedded',
    writes: connection,
    upkeep: connection,
    reads: connection,
    costly: connection,
    available: () => !parts.disposed && !disk?.isAway(),
    ready: Promise.resolve(),
    hasConnections: () => true,
    embedded: client,
    // Waits for an open transaction and for the running statement; later statements are refused.
    close: () => parts.disposeAsync(),
  };
}
