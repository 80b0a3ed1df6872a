import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openPostgres } from '../../src/database/postgres/postgres.ts';
import { spread } from '../../src/database/spread.ts';
import { Citus } from './citus.ts';
import { freePorts } from './cluster/cluster.ts';

/** A Citus on this machine with a migrated database whose tables are spread. */
export async function openCitus(
  database: string,
  nodes = 3,
): Promise<{ citus: Citus; folder: string; url: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'triport-citus-'));
  chmodSync(folder, 0o755);
  const citus = new Citus(folder, await freePorts(nodes));
  await citus.start();
  await citus.createDatabase(database);
  const url = citus.coordinator.urlOf(database);
  const opened = openPostgres({ url, connections: 1 }, pino({ level: 'silent' }));
  await opened.ready;
  await spread(opened.writes);
  await opened.close();
  return { citus, folder, url };
}
