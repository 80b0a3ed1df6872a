import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../../../schemas/settings.ts';
import { replicaUrls } from '../../../src/config/urls.ts';
import type { Connection } from '../../../src/database/connection.ts';
import { type Findings, ok, problem, warning } from './finding.ts';
import { factsOf, onServer } from './server.ts';

/** Milliseconds. A replica that is further behind is not read from. */
const maxLag = 5000;

const here = `select (pg_current_wal_flush_lsn() - '0/0')::text as position, system_identifier::text as system from pg_control_system()`;
const there = `select pg_is_in_recovery() as standby, system_identifier::text as system,
  case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::text end as position from pg_control_system()`;
interface Copy {
  standby: boolean;
  system: string;
  position: string;
}
type Primary = Omit<Copy, 'standby'>;

/** The replicas of a primary. Statements go there as they would from the service. */
export async function* checkReplicas(primary: Connection, settings: Settings): Findings {
  const urls = replicaUrls(settings);
  if (urls.length === 0) return;
  const pooled = settings.DATABASE_POOLER === 'transaction';
  const now = await factsOf<Primary>(primary, here);
  for (const [index, url] of urls.entries()) {
    const name =
      urls.length === 1 ? 'DATABASE_REPLICA_URLS' : `Replica ${index + 1} of DATABASE_REPLICA_URLS`;
    yield* onServer(name, url, db => examine(db, name, now), pooled);
  }
}

async function* examine(db: Connection, name: string, { system, position }: Primary): Findings {
  const copy = await factsOf<Copy>(db, there);
  if (!copy.standby)
    return yield problem(`${name} is no replica, so it is never read from. Remove its URL, or correct it.`);
  if (copy.system !== system)
    return yield problem(
      `${name} is a copy of another database: reads would be wrong. Remove its URL at once.`,
    );
  const end = Date.now() + maxLag;
  for (
    let applied = copy.position;
    BigInt(applied) < BigInt(position);
    { position: applied } = await factsOf<Copy>(db, there)
  ) {
    if (Date.now() > end)
      return yield warning(
        `${name} is more than 5 s behind, so it is not read from. Look at its disk, its network and long queries there.`,
      );
    await sleep(100);
  }
  yield ok(`${name} follows the primary.`);
}
