import type { Connection } from '../../../src/database/connection.ts';
import { migrationState, whoMigrates } from '../../../src/database/migrations/migrations.ts';
import { type Findings, ok, problem, warning } from './finding.ts';
import { factsOf } from './server.ts';

/** What there is, and the rights to serve with it. An extension looks after its own tables. */
const relations = `select c.oid, c.relowner as owner, c.oid::regclass as name,
    case c.relkind when 'S' then 'sequence' else 'table' end as kind,
    case when n.nspname = 'drizzle' then case c.relkind when 'S' then '{}' else '{select}' end
      when c.relkind = 'S' then '{usage}' else '{select,insert,update,delete}' end::text[] as needs
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('public', 'drizzle') and c.relkind in ('r', 'p', 'S') and not c.relispartition
    and not exists (select from pg_depend where objid = c.oid and deptype = 'e')`;

/** A trigger needs no right to run its function. */
const needed = `select format('schema %I', nspname) as object, 'usage' as need, has_schema_privilege(oid, 'usage') as granted
    from pg_namespace where nspname in ('public', 'drizzle')
  union all select format('%s %s', kind, name), need,
    case kind when 'sequence' then has_sequence_privilege(oid, need) else has_table_privilege(oid, need) end
    from (${relations}) r cross join unnest(needs) need
  union all select 'function ' || oid::regprocedure, 'execute', has_function_privilege(oid, 'execute') from pg_proc p
    where pronamespace = 'public'::regnamespace and prokind = 'f' and prorettype <> 'trigger'::regtype
      and not exists (select from pg_depend where objid = p.oid and deptype = 'e')`;

const rights = `select current_user as role,
  array(select format('grant %s on %s to %I', string_agg(need, ', ' order by need), object, current_user)
    from (${needed}) n where not granted group by object order by object) as missing,
  has_schema_privilege('public', 'create')
    and (to_regnamespace('drizzle') is not null or has_database_privilege(current_database(), 'create'))
    and not exists (select from (${relations}) r where not pg_has_role(owner, 'usage')) as "mayMigrate"`;

interface Rights {
  role: string;
  missing: string[];
  mayMigrate: boolean;
}

/** What the role of the URL may do, and whether it has to migrate. The owner of the tables may do everything. */
export async function* checkRights(db: Connection): Findings {
  const { role, missing, mayMigrate } = await factsOf<Rights>(db, rights);
  for (const grant of missing) yield problem(`The role ${role} lacks a right: \`${grant}\`.`);
  // Without them, nobody knows what is migrated.
  if (missing.length > 0) return;
  yield ok(`The role ${role} has the rights that it needs.`);
  const { pending, isNewer } = await migrationState(db);
  const state = `${pending.length} migrations are pending`;
  if (isNewer)
    yield problem(
      'A newer release has migrated the database. Run that release, or restore a backup from before.',
    );
  else if (pending.length === 0) yield ok('All migrations are applied.');
  else if (!mayMigrate) yield problem(await whoMigrates(db, state));
  else yield warning(`${state}: the next start runs them, or \`npm run migrate\` now.`);
}
