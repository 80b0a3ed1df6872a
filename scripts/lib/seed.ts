import { hash } from 'node:crypto';
import type { TSchema } from '@sinclair/typebox';
import { type PgTable, sql } from '../../drizzle/orm.ts';
import { UsageError } from '../../src/command.ts';
import type { Connection } from '../../src/database/connection.ts';
import { rowsOfTable } from '../../src/database/statements/insertRows.ts';
import { builder, rowsOf } from '../../src/database/statements/statement.ts';
import type { AnyResource } from '../../src/records/resource.ts';
import { sampleValue } from './sampleValue.ts';

/** How many records of each list, by the plural of its resource. */
type Amounts = Record<string, number>;

const most = 5_000_000;
/** Records per statement. */
const perStatement = 1000;

/** Inserts the records that do not exist yet, parents before their children, and reports progress. */
export async function seed(
  db: Connection,
  resources: AnyResource[],
  amounts: Amounts,
  report: (done: number) => void,
): Promise<void> {
  let done = 0;
  for (const resource of parentsFirst(resources)) {
    const insertRows = insertionInto(resource);
    const amount = amounts[resource.plural] ?? 0;
    for (let from = 0; from < amount; from += perStatement) {
      const numbers = Array.from({ length: Math.min(perStatement, amount - from) }, (_, i) => from + i);
      const records = numbers.map(number => seedRecord(resource, number, amounts));
      await insertRows(db, { $rows: JSON.stringify(records) });
      done += records.length;
      report(done);
    }
  }
}

function parentsFirst(resources: AnyResource[]): AnyResource[] {
  const ordered = new Set<AnyResource>();
  const add = (resource: AnyResource) => {
    for (const { parent } of resource.parentRelations) if (parent !== resource) add(parent);
    ordered.add(resource);
  };
  for (const resource of resources) add(resource);
  return [...ordered];
}

/** Leaves out those that a unique index refuses, and those whose parent is missing because it was left out. */
function insertionInto({ table, parentRelations }: AnyResource) {
  const known = parentRelations.map(({ parent, member }) => {
    const id = sql`new.${sql.identifier(member)}`;
    return sql`(${id} is null or exists (select from ${parent.table} where ${parent.table.id} = ${id}))`;
  });
  const rows = sql`select new.* from (${rowsOfTable(table)}) as new where ${sql.join([sql`true`, ...known], sql` and `)}`;
  return rowsOf(builder.insert<PgTable>(table).select(rows).onConflictDoNothing());
}

/** The record of a resource with this number, on which alone it depends. */
export function seedRecord(resource: AnyResource, number: number, amounts: Amounts): Record<string, unknown> {
  const { createdAt, id } = identityOf(resource, number);
  const members = Object.entries(resource.contract.create.properties).map(([name, member]) => {
    const relation = resource.parentRelations.find(each => each.member === name);
    if (!relation) return [name, seedValue(member, number)];
    const { parent } = relation;
    // The cube gives a few parents many records and most parents few.
    const above = Math.floor(chanceOf(number) ** 3 * (amounts[parent.plural] ?? 0));
    return [name, parent === resource ? null : identityOf(parent, above).id];
  });
  return { ...Object.fromEntries(members), id, version: 1, createdAt, updatedAt: createdAt };
}

function seedValue(member: TSchema, number: number): unknown {
  const choices: unknown[] | undefined =
    member.enum ?? (member.type === 'boolean' ? [true, false] : undefined);
  return choices ? choices[Math.floor(chanceOf(-number) * choices.length)] : sampleValue(member, number + 1);
}

/** Like the service's, ids ascend with the number and start with the time of creation. */
function identityOf({ plural }: AnyResource, number: number) {
  const time = Date.UTC(2025, 0, 1) + number * 10_000;
  const [hex, count] = [time.toString(16).padStart(12, '0'), number.toString(16).padStart(12, '0')];
  const kind = hash('sha256', plural).slice(0, 3);
  return {
    id: `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8${kind}-${count}`,
    createdAt: new Date(time).toISOString(),
  };
}

/** A pseudo-random number from 0 up to 1 that depends only on the number: an integer hash. */
function chanceOf(number: number): number {
  let bits = Math.imul(number + 1, 0x9e3779b1);
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
}

/** What arguments such as `users=100` ask for: of the others, 10,000 that belong to nothing and 200,000 that do. */
export function amountsOf(resources: AnyResource[], given: string[]): Amounts {
  const amounts: Amounts = Object.fromEntries(
    resources.map(({ plural, parentRelations }) => [plural, parentRelations.length > 0 ? 200_000 : 10_000]),
  );
  for (const text of given) {
    const [plural = '', amount = ''] = text.split('=');
    if (!Object.hasOwn(amounts, plural))
      throw new UsageError(`There is no list '${plural}': use one of ${Object.keys(amounts).join(', ')}`);
    if (!/^\d{1,7}$/.test(amount) || Number(amount) > most)
      throw new UsageError(`${plural} must be a whole number up to ${most.toLocaleString('en')}`);
    amounts[plural] = Number(amount);
  }
  return amounts;
}
