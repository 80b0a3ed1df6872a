import { execFileSync } from 'node:child_process';
import postgres from 'postgres';
import type { Test } from 'tap';
import { createPostgres } from '#test/helper/database.ts';
import { ask, json } from './cluster/ask.ts';
import { queryPostgres } from './cluster/postgres.ts';
import { type Service, startService, until, withWorld } from './process.ts';

export type Pair = Awaited<ReturnType<typeof startPair>>;

/** Starts two servers on one database with a user. `second` has more settings for the second server alone. */
export async function startPair(t: Test, env: Record<string, string> = {}, second = {}) {
  const url = await createPostgres(t);
  const settings = { DATABASE_URL: url, WORKER: 'apart', ...env };
  const options = withWorld;
  const servers = await Promise.all([
    startService(t, settings, { options }),
    startService(t, { ...settings, ...second }, { options }),
  ]);
  const [user] = await queryPostgres(
    url,
    `insert into users values (gen_random_uuid(), 'Ada', 'ada@example.com', now(), now()) returning id`,
  );
  return {
    servers,
    userId: String(user?.id),
    databaseUrl: url,
    query: (text: string) => queryPostgres(url, text),
  };
}

/** Counts the burrows with this label, and the entries of the audit log about their creation. */
export async function countBurrows({ query }: Pair, label: string) {
  const [row] = await query(
    `select count(distinct burrows.id)::int as burrows, count(audit_log.id)::int as entries
     from burrows left join audit_log on record_id = burrows.id::text and action = 'burrow.create'
     where label = '${label}'`,
  );
  return row;
}

/** Creates a burrow. Nothing but the key keeps a repetition from creating another one: labels are not unique. */
export const createBurrow = ({ url }: { url: string }, key: string, label: string) =>
  ask(`${url}/api/burrows`, json({ label }, { 'idempotency-key': key }));

/** The number of a lock that no other code takes. */
const lock = 150_015;

const triggers = {
  'its transaction': 'create trigger gate after insert on burrows',
  'its commit': 'create constraint trigger gate after insert on burrows deferrable initially deferred',
};

/** Closes a gate at which the transactions that create a burrow named "Held" stop. */
export async function closeGate(t: Test, { databaseUrl }: Pair, during: keyof typeof triggers) {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  await sql.unsafe(`
    create function wait_at_gate() returns trigger language plpgsql as $$
    begin
      -- Tries in a loop: a wait for the lock would end after the lock_timeout of the server.
      while not pg_try_advisory_xact_lock_shared(${lock}) loop perform pg_sleep(0.01); end loop;
      return null;
    end $$;
    ${triggers[during]} for each row when (new.label = 'Held') execute function wait_at_gate();
    select pg_advisory_lock(${lock});`);
  return {
    /** Waits until a transaction stands at the gate. */
    reached: () =>
      until('a transaction is at the gate', async () => {
        const waiting =
          await sql`select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
        return waiting.length > 0;
      }),
    close: () => sql`select pg_advisory_lock(${lock})`,
    open: () => sql`select pg_advisory_unlock(${lock})`,
  };
}

/** Freezes a server, as a machine that is about to die does. */
export async function freeze({ child }: Service) {
  child.kill('SIGSTOP');
  const state = () => execFileSync('ps', ['-o', 'stat=', '-p', String(child.pid)], { encoding: 'utf8' });
  await until('the server stands still', () => state().startsWith('T'));
}

/** Kills the first server after its commit of a burrow `Held`, before its answer; returns the answer of the other. */
export async function killBeforeAnswer<T>(
  t: Test,
  pair: Pair,
  send: (server: Service) => Promise<T>,
): Promise<T> {
  const [victim, survivor] = pair.servers;
  const gate = await closeGate(t, pair, 'its commit');
  const lost = send(victim).catch((error: Error) => error);
  await gate.reached();
  await freeze(victim);
  await gate.open();
  await until('it is committed', async () => (await countBurrows(pair, 'Held'))?.burrows === 1);
  await victim.kill();
  t.type(await lost, Error, 'the client has no answer');
  return send(survivor);
}
