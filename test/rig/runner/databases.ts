import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { pino } from 'pino';
import { embeddedConnection } from '#src/database/embedded/client.ts';
import { openEmbedded } from '#src/database/embedded/embedded.ts';
import { migrate } from '#src/database/migrations/migrations.ts';
import { Citus } from '#test/rig/citus/citus.ts';
import { LocalPostgres } from '#test/rig/cluster/postgres.ts';
import { freePort } from '#test/rig/servers/ports.ts';
import { makeTables, makeTablesAt } from '#test/world/tables.ts';

const silent = pino({ level: 'silent' });

/** The migrated embedded database as a file, which loads in a sixth of the time. */
export async function makeSnapshot(folder: string): Promise<string> {
  // The file is small because each test unpacks it: 1 MB of log instead of 16, and no templates for new databases.
  const client = await PGlite.create({ initDbStartParams: ['--wal-segsize=1'] });
  await migrate(embeddedConnection(client));
  await makeTables(embeddedConnection(client));
  for (const name of ['template0', 'template1']) {
    await client.exec(`update pg_database set datistemplate = false where datname = '${name}'`);
    await client.exec(`drop database ${name}`);
  }
  const path = join(folder, 'template.tar');
  writeFileSync(path, Buffer.from(await (await client.dumpDataDir('none')).arrayBuffer()));
  await client.close();
  return path;
}

/** The data folder of an embedded database after its first start. */
export async function makeDataFolder(folder: string): Promise<string> {
  // `data` would be the folder of a service that a test starts without naming one.
  const path = join(folder, 'template');
  const database = await openEmbedded({ folder: path }, silent);
  await makeTables(database.writes);
  await database.close();
  return path;
}

/** A Citus of three nodes with a template database, migrated and spread. */
export async function startCitus(folder: string) {
  const citus = await Citus.open(join(folder, 'citus'), 'triport_template');
  // The daemons of Citus stay connected, and a database in use is no template.
  for (const node of citus.nodes) {
    await node.query('alter database triport_template with allow_connections false', 'postgres');
    await node.query(endSessions, 'postgres');
  }
  return {
    urls: citus.nodes.map(node => node.urlOf('postgres')),
    stop: () => citus.stop(),
  };
}

const endSessions =
  "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'triport_template'";

/** A PostgreSQL server with a migrated template database that tests clone. It asks for passwords. */
export async function startServer(folder: string) {
  const server = new LocalPostgres('postgres', folder, await freePort());
  await server.create();
  await server.query(`alter role triport password 'triport'`);
  writeFileSync(join(server.folder, 'pg_hba.conf'), 'host all all 127.0.0.1/32 password\n');
  await server.query('select pg_reload_conf()');
  await server.query('create database triport_template');
  await makeTablesAt(server.urlOf('triport_template'));
  return { url: server.urlOf('postgres'), stop: () => server.stop() };
}
