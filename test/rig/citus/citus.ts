import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pino } from 'pino';
import { OperatorError } from '#src/core/errors.ts';
import { spread } from '#src/database/migrations/migrations.ts';
import { openPostgres } from '#src/database/postgres/postgres.ts';
import { PostgresNode } from '#test/rig/cluster/postgres.ts';
import { freePort } from '#test/rig/servers/ports.ts';
import { makeTables } from '#test/world/tables.ts';

/** Returns the folder with the programs of a PostgreSQL for which Citus is installed. */
export const citusPrograms = (): string | undefined =>
  process.env.PATH?.split(delimiter).find(
    folder => existsSync(join(folder, 'postgres')) && existsSync(join(folder, '../lib/citus.so')),
  );

const settings = `shared_preload_libraries = 'citus'
max_connections = 400
max_worker_processes = 200
max_prepared_transactions = 400
wal_level = logical
fsync = off
# A statement of one node that another node sends has no limits of its own.
lock_timeout = 2000
# What a node left open when it died is ended so soon; the default is a minute.
citus.recover_2pc_interval = '2s'
`;

async function startNode(folder: string): Promise<PostgresNode> {
  const programs = citusPrograms();
  if (!programs) throw new OperatorError('No folder on the PATH has a PostgreSQL with Citus.');
  const port = await freePort();
  const name = `node${port}`;
  const node = new PostgresNode({ name, programs, folder: join(folder, name), port, settings });
  await node.create();
  return node;
}

/** A coordinator and two workers. */
export class Citus {
  readonly nodes: [PostgresNode, PostgresNode, PostgresNode];

  private constructor(nodes: Citus['nodes']) {
    this.nodes = nodes;
  }

  /** Starts empty nodes in a new folder. */
  static async start(folder: string): Promise<Citus> {
    mkdirSync(folder);
    return new Citus(await Promise.all([startNode(folder), startNode(folder), startNode(folder)]));
  }

  /** Starts nodes with a database whose tables are spread over them. */
  static async open(folder: string, database?: string): Promise<Citus> {
    const citus = await Citus.start(folder);
    const url = await citus.createDatabase(database);
    const opened = openPostgres({ url, connections: 1 }, pino({ level: 'silent' }));
    await opened.ready;
    await makeTables(opened.writes);
    await spread(opened.writes);
    await opened.close();
    return citus;
  }

  get coordinator(): PostgresNode {
    return this.nodes[0];
  }

  async stop(): Promise<void> {
    // The coordinator stops first: it ends what is open on the others.
    for (const node of this.nodes) await node.stop();
  }

  /** Creates a database on every node, ready to be spread; returns its URL. */
  async createDatabase(name = 'triport'): Promise<string> {
    for (const node of this.nodes) {
      await node.query(`create database ${name}`, 'postgres');
      await node.query('create extension citus', name);
    }
    const [{ port }, ...workers] = this.nodes;
    const join = [
      `select citus_set_coordinator_host('127.0.0.1', ${port})`,
      ...workers.map(worker => `select citus_add_node('127.0.0.1', ${worker.port})`),
    ];
    for (const step of join) await this.coordinator.query(step, name);
    return this.coordinator.urlOf(name);
  }
}
