import { pino } from 'pino';
import { getTableName } from '#drizzle/orm.ts';
import { generateDrizzleJson, generateMigration } from '#scripts/lib/drizzleKit.ts';
import type { Connection } from '#src/database/connection.ts';
import { openPostgres } from '#src/database/postgres/postgres.ts';
import type { AnyResource } from '#src/records/resource.ts';
import { ofTests } from './index.ts';

const worlds: AnyResource[] = ofTests.map(({ resource }) => resource);

/** Makes the tables of resources, by default those of this folder, in a migrated database, as a migration would. */
export async function makeTables(db: Connection, resources = worlds): Promise<void> {
  const tables = Object.fromEntries(resources.map(({ table }) => [getTableName(table), table]));
  for (const text of await generateMigration(generateDrizzleJson({}), generateDrizzleJson(tables)))
    await db.rows(text, []);
  for (const { table, counted } of resources)
    await db.rows('select list_watch($1, $2)', [getTableName(table), `{${counted}}`]);
}

/** Migrates the database at this URL, and makes the tables in it. */
export async function makeTablesAt(url: string): Promise<void> {
  const database = openPostgres({ url, connections: 1 }, pino({ level: 'silent' }));
  await database.ready;
  await makeTables(database.writes);
  await database.close();
}
