import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { PostgresNode } from '../cluster/postgres.ts';

/** The programs of a PostgreSQL for which Citus is installed. */
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

/** One PostgreSQL server of a Citus. */
export class CitusNode extends PostgresNode {
  constructor(programs: string, folder: string, port: number) {
    super({ name: `the node on port ${port}`, programs, folder, port, settings });
  }

  query(database: string, text: string): Promise<Record<string, unknown>[]> {
    return this.queryIn(database, text);
  }
}
