import type { Connection } from '../../../src/database/connection.ts';
import { refuseOtherEncodings } from '../../../src/database/migrations/migrations.ts';
import { isSpread } from '../../../src/database/migrations/spread.ts';
import { checkConnections } from './connections.ts';
import { compareClocks, type Deployment, type Findings, ok, problem, warning } from './finding.ts';
import { checkPooler } from './pooler.ts';
import { checkReplicas } from './replicas.ts';
import { checkRights } from './rights.ts';
import { factsOf, onServer } from './server.ts';

/** The oldest release of PostgreSQL that the tests have run on. */
const oldest = 15;

/** The PostgreSQL server, what leads to it, and its replicas. */
export async function* checkDatabase(deployment: Deployment): Findings {
  const { DATABASE_URL, DATABASE_POOLER } = deployment.settings;
  if (DATABASE_URL === undefined) return;
  const pooled = DATABASE_POOLER === 'transaction';
  yield* onServer('DATABASE_URL', DATABASE_URL, db => examine(db, deployment), pooled);
}

async function* examine(db: Connection, deployment: Deployment): Findings {
  const server = await factsOf<Server>(db, serverFacts);
  yield versionFinding(server.version);
  if (server.standby || server.readOnly === 'on') {
    yield problem(
      'The database takes no writes: it is a replica, or set to read-only. Point DATABASE_URL to the primary.',
    );
    return;
  }
  // Throws what the start of the service would.
  await refuseOtherEncodings(db);
  yield ok('The database is encoded in UTF8.');
  yield* checkDurability(server);
  yield* checkRights(db);
  yield* checkSpread(db);
  if (deployment.settings.DATABASE_POOLER === 'transaction') yield* checkPooler(db, deployment.settings);
  else yield* checkConnections(db, deployment);
  yield* checkReplicas(db, deployment.settings);
  yield await compareClocks('the database', async () => {
    const { now } = await factsOf<{ now: number }>(
      db,
      `select extract(epoch from clock_timestamp()) * 1000 as now`,
    );
    return now;
  });
}

interface Server {
  version: string;
  standby: boolean;
  readOnly: string;
  fsync: string;
  commit: string;
}
const serverFacts = `select current_setting('server_version') as version, pg_is_in_recovery() as standby,
  current_setting('default_transaction_read_only') as "readOnly", current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as commit`;

export const versionFinding = (version: string) =>
  Number.parseInt(version, 10) < oldest
    ? warning(`PostgreSQL is ${version}, and the service is tested on ${oldest} to 18. Use one of these.`)
    : ok(`PostgreSQL is ${version}.`);

function* checkDurability({ fsync, commit }: Server) {
  const off = [fsync === 'off' && 'fsync', commit === 'off' && 'synchronous_commit'].filter(Boolean);
  if (off.length > 0)
    yield problem(
      `PostgreSQL runs with ${off.join(' and ')} off: a crash of its machine loses writes and webhooks that were acknowledged. Switch it on.`,
    );
  else yield ok('PostgreSQL keeps what it has acknowledged.');
}

async function* checkSpread(db: Connection): Findings {
  const { citus } = await factsOf<{ citus: boolean }>(
    db,
    `select to_regclass('webhook_events') is not null
      and exists (select from pg_extension where extname = 'citus') as citus`,
  );
  if (!citus) return;
  yield (await isSpread(db))
    ? ok('The tables are spread over the nodes of Citus.')
    : warning(
        'The database has Citus, but the tables are on one node: `npm run migrate -- --spread` spreads them.',
      );
}
