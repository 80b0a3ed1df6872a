import { getTableName } from '../../../drizzle/orm.ts';
import { apiKeys } from '../../../drizzle/tables/apiKeys.ts';
import { auditLog } from '../../../drizzle/tables/auditLog.ts';
import { idempotencyKeys } from '../../../drizzle/tables/idempotencyKeys.ts';
import { posts } from '../../../drizzle/tables/posts.ts';
import { subscriptions } from '../../../drizzle/tables/subscriptions.ts';
import { users } from '../../../drizzle/tables/users.ts';
import { webhookEvents } from '../../../drizzle/tables/webhookEvents.ts';
import { webhookBatches, webhookQueue } from '../../../drizzle/tables/webhookQueue.ts';
import type { Connection } from '../../../src/database/connection.ts';
import { type Findings, ok, problem } from './finding.ts';
import { factsOf } from './server.ts';

/** The tables of the service, and those of the migrations. */
const names = [
  users,
  posts,
  apiKeys,
  auditLog,
  idempotencyKeys,
  subscriptions,
  webhookEvents,
  webhookQueue,
  webhookBatches,
]
  .map(table => `'${getTableName(table)}'`)
  .join();
const tables = `select c.oid, c.oid::regclass::text as name, c.relowner as owner
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition and (n.nspname = 'drizzle'
    or n.nspname = 'public' and (c.relname in (${names}) or c.relname like 'list\\_%'))`;

const rights = `select current_user as role,
  has_database_privilege(current_database(), 'create') as "mayCreate",
  has_schema_privilege('public', 'create') as "mayCreateTables",
  array(select name from (${tables}) t where not (has_table_privilege(oid, 'select')
    and has_table_privilege(oid, 'insert') and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete'))
    order by name) as unusable,
  array(select name from (${tables}) t where not pg_has_role(owner, 'usage') order by name) as foreign`;

interface Rights {
  role: string;
  mayCreate: boolean;
  mayCreateTables: boolean;
  unusable: string[];
  foreign: string[];
}

/** What the role of the URL may do. Only the owner of a table can migrate it. */
export async function* checkRights(db: Connection, willMigrate: boolean): Findings {
  const { role, mayCreate, mayCreateTables, unusable, foreign } = await factsOf<Rights>(db, rights);
  const lacking = [
    !mayCreate && 'may not create schemas in the database',
    !mayCreateTables && willMigrate && 'may not create tables in the schema public',
    unusable.length > 0 && `may not read and write ${listOf(unusable)}`,
    foreign.length > 0 && `does not own ${listOf(foreign)}, which migrations change`,
  ].filter(Boolean);
  yield lacking.length === 0
    ? ok(`The role ${role} has the rights that it needs.`)
    : problem(
        `The role ${role} ${lacking.join(', and ')}. Make it the owner of the database and of its tables.`,
      );
}

const listOf = (names: string[]) =>
  names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more tables` : names.join(', ');
