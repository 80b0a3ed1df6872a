import type { Connection } from '../../../src/database/connection.ts';
import { countOf, type Deployment, type Findings, ok, problem } from './finding.ts';
import { factsOf } from './server.ts';

/** The probe, beside the pools. */
const beside = 1;

/** How many connections the instances may open, and how many there can be. -1 is no limit. */
const limits = `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - coalesce(current_setting('reserved_connections', true)::int, 0) as free,
  (select rolconnlimit from pg_roles where rolname = current_user) as "ofRole",
  (select datconnlimit from pg_database where datname = current_database()) as "ofDatabase",
  (select count(*)::int from pg_stat_activity where datid is not null and usename <> current_user) as others`;

interface Limits {
  free: number;
  ofRole: number;
  ofDatabase: number;
  others: number;
}

export async function* checkConnections(
  db: Connection,
  { settings, servers, workers }: Deployment,
): Findings {
  const { free, ofRole, ofDatabase, others } = await factsOf<Limits>(db, limits);
  const allowed = Math.min(free - others, ...[ofRole, ofDatabase].filter(limit => limit >= 0));
  const { DATABASE_POOL_SIZE: size } = settings;
  const needed = servers * (2 * size + beside) + workers * (size + beside);
  const who = `${countOf(servers, 'server')} and ${countOf(workers, 'worker')} open up to ${needed} connections`;
  yield needed > allowed
    ? problem(
        `${who}, and the database has ${allowed} for them: requests will wait and fail. Raise max_connections, lower DATABASE_POOL_SIZE, or use PgBouncer.`,
      )
    : ok(`${who}, and the database has ${allowed} for them.`);
}
