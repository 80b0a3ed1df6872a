import { hash } from 'node:crypto';
import type { TSchema } from '@sinclair/typebox';
import { type PgTable, sql } from '#drizzle/orm.ts';
import { UsageError } from '#src/command.ts';
import type { Connection } from '#src/database/connection.ts';
import { rowsOfTable } from '#src/database/statements/insertRows.ts';
import { builder, rowsOf } from '#src/database/statements/statement.ts';
import type { AnyResource } from '#src/records/resource.ts';
import { sampleValue } from './sampleValue.ts';

/** How many records of each list, by the plural of its resource. */
type Amounts = Record<string, number>;

const mostRecords = 5_000_000;
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

/** Leaves out records that a unique index refuses, and those whose parent was left out. */
function insertionInto({ table, parentRelations }: AnyResource) {
  const known = parentRelations.map(({ parent, member }) => {
    const id = sql`new.${sql.identifier(member)}`;
    return sql`(${id} is null or exists (select from ${parent.table} where ${parent.table.id} = ${id}))`;
  });
  const rows = sql`select new.* from (${rowsOfTable(table)}) as new where ${sql.join([sql`true`, ...known], sql` and `)}`;
  return rowsOf(builder.insert<PgTable>(table).select(rows).onConflictDoNothing());
}

/** The record of a resource with this number. The same amounts always give the same record. */
export function seedRecord(resource: AnyResource, number: number, amounts: Amounts): Record<string, unknown> {
  const { createdAt, id } = identityOf(resource, number);
  const members = Object.entries(resource.contract.create.properties).map(([name, member]) => {
    const relation = resource.parentRelations.find(each => each.member === name);
    const chance = chanceOf(`${name} ${number}`);
    if (!relation) return [name, seedValue(member, number, chance)];
    const { parent } = relation;
    // The cube gives a few parents many records and most parents few.
    const above = Math.floor(chance ** 3 * (amounts[parent.plural] ?? 0));
    return [name, parent === resource ? null : identityOf(parent, above).id];
  });
  return { ...Object.fromEntries(members), id, version: 1, createdAt, updatedAt: createdAt };
}

function seedValue(member: TSchema, number: number, chance: number): unknown {
  const choices: unknown[] | undefined =
    member.enum ?? (member.type === 'boolean' ? [true, false] : undefined);
  return choices ? choices[Math.floor(chance * choices.length)] : sampleValue(member, number + 1);
}

/** The ids ascend with the number and start with the time of creation, like those of the service. */
function identityOf({ plural }: AnyResource, number: number) {
  const time = Date.UTC(2025, 0, 1) + number * 10_000;
  const [hex, count] = [time.toString(16).padStart(12, '0'), number.toString(16).padStart(12, '0')];
  const kind = hash('sha256', plural).slice(0, 3);
  return {
    id: `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8${kind}-${count}`,
    createdAt: new Date(time).toISOString(),
  };
}

/** A number from 0 to below 1 that looks random, and is always the same for a text. */
const chanceOf = (text: string) => Number.parseInt(hash('sha256', text).slice(0, 8), 16) / 2 ** 32;

/** The amounts for arguments such as `users=100`: of these lists and those that they belong to, or of all lists. */
export function readAmounts(resources: AnyResource[], given: string[]): Amounts {
  const named = new Map<AnyResource, number>();
  for (const text of given) {
    const [name = '', amount = ''] = text.split('=');
    const resource = resources.find(({ plural }) => plural === name);
    if (!resource) {
      const names = resources.map(({ plural }) => plural).join(', ');
      throw new UsageError(`There is no list '${name}': use one of ${names}`);
    }
    if (!/^\d{1,7}$/.test(amount) || Number(amount) > mostRecords)
      throw new UsageError(`${name} must be a whole number up to ${mostRecords.toLocaleString('en')}`);
    named.set(resource, Number(amount));
  }
  const usualAmount = (resource: AnyResource) =>
    named.get(resource) ?? (resource.parentRelations.length > 0 ? 200_000 : 10_000);
  const filled = parentsFirst(named.size > 0 ? [...named.keys()] : resources);
  return Object.fromEntries(filled.map(resource => [resource.plural, usualAmount(resource)]));
}
