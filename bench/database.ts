import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { makeServer } from '../test/rig/cluster/postgres.ts';

export interface Statement {
  text: string;
  calls: number;
  rows: number;
  microseconds: number;
}

/** The seed needs ten minutes for ten million posts; one statement of the database needs half of that. */
const mostSeeded = 1_000_000;

/** Adds posts after those of the seed, of random authors among them. */
async function addPosts(sql: postgres.Sql, amount: number): Promise<void> {
  // Without foreign keys and triggers; the rows are counted afterwards.
  await sql`set session_replication_role = replica`;
  await sql`set work_mem = '1GB'`;
  await sql`
    insert into posts (id, title, status, author_id, created_at, updated_at)
    select (lpad(to_hex(1800000000000 + n), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid, 'Notes ' || n,
      case when n % 4 = 0 then 'draft' else 'published' end, authors[1 + floor(random() * cardinality(authors))::int], now(), now()
    from generate_series(1, ${amount}::int) as n, (select array_agg(id) as authors from users) as everybody`;
  await sql`set session_replication_role = origin`;
  await sql`select list_repair(name) from list_tables`;
}

/** A temporary PostgreSQL server with the seeded data. Commits wait for the disk as they do in production. */
export async function openBenchDatabase(users: number, posts: number) {
  const folder = mkdtempSync(join(tmpdir(), 'triport-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const port = 4190;
  const databaseDir = join(folder, 'postgres');
  const flags = [
    'shared_buffers=512MB',
    'max_connections=100',
    'shared_preload_libraries=pg_stat_statements',
  ];
  const server = makeServer(databaseDir, port, flags);
  await server.initialise();
  await server.start();
  await server.createDatabase('triport');
  const url = `postgres://triport:triport@127.0.0.1:${port}/triport`;
  const seeded = spawnSync(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      'scripts/seed.ts',
      `--users=${users}`,
      `--posts=${Math.min(posts, mostSeeded)}`,
    ],
    {
      env: { ...process.env, DATABASE_URL: url },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  if (seeded.status !== 0) throw new Error('The seed failed.');
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  // The service would move the changes of the seed while the first requests are measured.
  const fold = async () => Number((await sql`select list_fold(100000) as moved`)[0]?.moved);
  while ((await fold()) > 0);
  if (posts > mostSeeded) await addPosts(sql, posts - mostSeeded);
  const track = async (what: string) => {
    await sql.unsafe(`alter system set pg_stat_statements.track = '${what}'`);
    await sql`select pg_reload_conf()`;
  };
  await track('none');
  await sql`vacuum analyze`;
  const floorUrl = await copyWithoutCounts(url);

  return {
    url,
    floorUrl,
    pid: Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0]),
    sample: async () => ({
      users: (
        await sql`select author_id from posts group by 1 having count(*) >= 20 order by 1 limit 5000`
      ).map(row => String(row.author_id)),
      deepPage: Math.floor(posts / 40),
    }),
    /** Stale statistics of a table that has just grown cause bad plans, and a checkpoint would disturb the load. */
    tidy: async () => {
      await sql`vacuum analyze`;
      await sql`checkpoint`;
    },
    /** Waits until every received event has been processed. */
    jobsDone: async () => {
      while ((await sql`select from webhook_events where status = 'received' limit 1`).count) await sleep(50);
    },
    /** The statements that Postgres ran during some work, with their times. */
    statementsOf: async (work: () => Promise<unknown>): Promise<Statement[]> => {
      await sql`create extension if not exists pg_stat_statements`;
      await sql`select pg_stat_statements_reset()`;
      await track('top');
      await work();
      await track('none');
      return sql<Statement[]>`
        select regexp_replace(query, '\\s+', ' ', 'g') as text, calls::int, rows::int, total_exec_time * 1000 as microseconds
        from pg_stat_statements order by total_exec_time desc limit 20`;
    },
    close: async () => {
      await sql.end();
      await server.stop();
    },
  };
}

/** A copy without the triggers that count: the floor does not use the counts, so it should not pay for them. */
async function copyWithoutCounts(url: string): Promise<string> {
  const copy = Object.assign(new URL(url), { pathname: '/floor' }).href;
  const admin = postgres(Object.assign(new URL(url), { pathname: '/postgres' }).href, {
    max: 1,
    onnotice: () => {},
  });
  await admin`alter database triport with allow_connections false`;
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'triport'`;
  await admin`create database floor template triport`;
  await admin`alter database triport with allow_connections true`;
  await admin.end();
  const sql = postgres(copy, { max: 1, onnotice: () => {} });
  await sql`alter table users disable trigger user`;
  await sql`alter table posts disable trigger user`;
  await sql`vacuum analyze`;
  await sql.end();
  return copy;
}
