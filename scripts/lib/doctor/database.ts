import { statementTimeout } from '#src/config/timeouts.ts';
import type { Connection } from '#src/database/connection.ts';
import { editedText, migrationState, refuseOtherEncodings } from '#src/database/migrations/migrations.ts';
import * as postgres from '#src/database/postgres/client.ts';
import { checkClock, type Deployment } from './finding.ts';

type Facts = {
  takesWrites: boolean;
  role: string;
  migrates: boolean;
  grants: string[];
  free: number;
  limits: string;
};

const isOwn = "not exists (select from pg_depend where objid = oid and deptype = 'e')";

/** `grants`: what the role needs to serve and lacks, on everything in the schemas that belongs to no extension. */
const facts = `with needs (object, need, granted) as (
  select format('schema %I', nspname), 'usage', has_schema_privilege(oid, 'usage')
    from pg_namespace where nspname in ('public', 'drizzle')
  union all select case relkind when 'S' then 'sequence ' else 'table ' end || oid::regclass, need,
    case relkind when 'S' then has_sequence_privilege(oid, need) else has_table_privilege(oid, need) end
    from pg_class, unnest(case when relnamespace <> 'public'::regnamespace then '{select}'
      when relkind = 'S' then '{usage}' else '{select,insert,update,delete}' end::text[]) need
    where relkind in ('r', 'p', 'S') and not relispartition and ${isOwn} and (relnamespace = 'public'::regnamespace
      or relnamespace = to_regnamespace('drizzle') and relkind <> 'S')
  -- A trigger needs no right to its function.
  union all select 'function ' || oid::regprocedure, 'execute', has_function_privilege(oid, 'execute') from pg_proc
    where pronamespace = 'public'::regnamespace and prokind = 'f' and prorettype <> 'trigger'::regtype and ${isOwn}
)
select json_build_object('role', current_user,
  'takesWrites', not pg_is_in_recovery() and current_setting('default_transaction_read_only') = 'off',
  'migrates', coalesce((select pg_has_role(tableowner, 'usage') from pg_tables
      where schemaname = 'drizzle' and tablename = '__drizzle_migrations'),
    has_database_privilege(current_database(), 'create')),
  'grants', array(select format('grant %s on %s to %I', string_agg(need, ', ' order by need), object, current_user)
    from needs where not granted group by object order by object),
  -- The connections that other roles do not have; -1 is no limit.
  'free', least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - (select count(*)::int from pg_stat_activity where datid is not null and usename <> current_user),
    (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
    (select nullif(datconnlimit, -1) from pg_database where datname = current_database())),
  'limits', (select string_agg(format('%s = %s', name, setting), '; ' order by name desc)
    from pg_settings where name in ('statement_timeout', 'lock_timeout')))`;

/** Checks the PostgreSQL server and what leads to it. */
export async function checkDatabase(deployment: Deployment): Promise<void> {
  const { settings } = deployment;
  const server = postgres.serverFrom(settings);
  const pool = postgres.connectTo({ ...server, connections: 1 });
  const db = postgres.pooledConnection(pool);
  try {
    if (!server.pooled) await postgres.refuseHiddenPooler(db);
    await refuseOtherEncodings(db);
    const [[found] = []] = await db.rows(facts, []);
    judge(found as Facts, deployment);
    // A role without rights cannot read what is migrated.
    if ((found as Facts).grants.length === 0 && (await checkMigrations(db, found as Facts, deployment)))
      await checkIdentities(db, deployment);
    await checkClock(deployment, 'database_clock', async () => {
      const [[now] = []] = await db.rows('select extract(epoch from clock_timestamp())::float8 * 1000', []);
      return Number(now);
    });
  } finally {
    await pool.close(0);
  }
}

function judge(found: Facts, { settings, servers, workers, report }: Deployment): void {
  if (!found.takesWrites) report('problem', 'read_only', 'No writes are taken: set the URL of the primary.');
  for (const grant of found.grants) report('problem', 'rights', `${found.role} lacks a right: \`${grant}\`.`);
  const size = settings.DATABASE_POOL_SIZE;
  // Each process has a probe beside its pools, and two connections for lists that take long.
  const most = (servers + workers) * (Math.ceil(1.5 * size) + 3);
  const wanted = `statement_timeout = ${statementTimeout(settings)}; lock_timeout = 50`;
  if (settings.DATABASE_POOLER !== 'transaction') {
    const advice = 'raise max_connections, lower DATABASE_POOL_SIZE, or use PgBouncer';
    const text = `${servers} servers and ${workers} workers open ${most} connections, and ${found.free} are free`;
    if (most > found.free) report('problem', 'connections', `${text}: ${advice}.`);
  } else if (found.limits !== wanted) {
    const advice = `let the connect_query of the pooler set ${wanted} and the other limits`;
    report('warning', 'time_limits', `Sessions have ${found.limits}: ${advice}.`);
  }
}

/** Returns whether there is nothing to do. */
async function checkMigrations(
  db: Connection,
  { role, migrates }: Facts,
  { report }: Deployment,
): Promise<boolean> {
  const { pending, edited, others } = await migrationState(db);
  if (edited.length > 0) report('warning', 'migrations', editedText(edited));
  if (pending.length > 0) {
    const names = pending.map(({ tag }) => tag).join(', ');
    const limit = migrates ? '' : `, which ${role} may not`;
    const text = `Migrations are pending (${names}): run \`npm run migrate\`${limit}.`;
    report(migrates ? 'warning' : 'problem', 'migrations', text);
  }
  if (others > 0)
    report('warning', 'migrations', `Another release has run migrations that this one lacks (${others}).`);
  return pending.length + edited.length + others === 0;
}

async function checkIdentities(db: Connection, { settings, report }: Deployment): Promise<void> {
  const { AUTH_ISSUER: issuer } = settings;
  if (issuer === undefined) return;
  const [[others] = []] = await db.rows('select count(*)::int from identities where issuer <> $1', [issuer]);
  const text = `${others} identities are of another issuer than AUTH_ISSUER: their users have no token here.`;
  if (Number(others) > 0) report('warning', 'identities', text);
}
