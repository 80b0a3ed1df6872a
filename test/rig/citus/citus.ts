import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { OperatorError } from '../../../src/core/errors.ts';
import { spread } from '../../../src/database/migrations/spread.ts';
import { openPostgres } from '../../../src/database/postgres/postgres.ts';
import { freePorts } from '../servers/ports.ts';
import { CitusNode, citusPrograms } from './node.ts';

interface Options {
  /** Made for its data. */
  folder: string;
}

/** A coordinator and two workers. */
export class Citus {
  readonly nodes: CitusNode[];

  private constructor(nodes: CitusNode[]) {
    this.nodes = nodes;
  }

  /** Starts empty nodes. */
  static async start({ folder }: Options): Promise<Citus> {
    const programs = citusPrograms();
    if (!programs) throw new OperatorError('No folder on the PATH has a PostgreSQL with Citus.');
    mkdirSync(folder);
    const ports = await freePorts(3);
    const citus = new Citus(
      ports.map((port, n) => new CitusNode(programs, join(folder, `node${n + 1}`), port)),
    );
    return citus.orStop(() => Promise.all(citus.nodes.map(node => node.create())));
  }

  /** Starts nodes with a database whose tables are spread. */
  static async open(database: string, options: Options): Promise<Citus> {
    const citus = await Citus.start(options);
    return citus.orStop(async () => {
      await citus.createDatabase(database);
      const url = citus.coordinator.urlOf(database);
      const opened = openPostgres({ url, connections: 1 }, pino({ level: 'silent' }));
      await opened.ready;
      await spread(opened.writes);
      await opened.close();
    });
  }

  private async orStop(work: () => Promise<unknown>): Promise<Citus> {
    try {
      await work();
      return this;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  get coordinator(): CitusNode {
    return this.nodes[0] as CitusNode;
  }

  async stop(): Promise<void> {
    // The coordinator first: it ends what is open on the others.
    for (const node of this.nodes) await node.stop('SIGINT');
  }

  /** Creates a database on every node, ready to be spread. */
  async createDatabase(name: string): Promise<void> {
    await Promise.all(
      this.nodes.map(async node => {
        await node.query('postgres', `create database ${name}`);
        await node.query(name, 'create extension citus');
      }),
    );
    const [{ port }, ...workers] = this.nodes as [CitusNode, ...CitusNode[]];
    const join = [
      `select citus_set_coordinator_host('127.0.0.1', ${port})`,
      ...workers.map(worker => `select citus_add_node('127.0.0.1', ${worker.port})`),
    ];
    for (const step of join) await this.coordinator.query(name, step);
  }
}
