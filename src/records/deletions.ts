import { count, or, type PgColumn, type PgTable, type SQL, sql } from '#drizzle/orm.ts';
import { maxCascade, type Removal } from '#schemas/parts/contract.ts';
import type { Context } from '#src/access/context.ts';
import { seesOnlyOwn } from '#src/access/ownership.ts';
import { type Condition, requireVersion } from '#src/core/conditions.ts';
import type { Conflict } from '#src/core/conflicts.ts';
import { orm } from '#src/database/connection.ts';
import { recordWrites } from './audit.ts';
import { type Rule, withOwnRecord, writeScope } from './records.ts';
import { makeSide, type Sided } from './relations.ts';
import type { AnyResource, Contract, Relation, Resource, ResourceTable } from './resource.ts';

/**
 * A function that deletes a record with what belongs to it. It throws a 409 if there are children that the caller did
 * not ask to delete, or more than `maxCascade`. Records that are deleted with a parent are not checked by their rule.
 */
export function removalOf<C extends Contract, T extends ResourceTable>(
  resource: Resource<C, T>,
  { check, conflicts = [] }: Rule<[stored: T['$inferSelect']]> = {},
) {
  const scope = writeScope(resource);
  async function remove(
    context: Context,
    id: string,
    { cascade }: Removal,
    condition?: Condition,
  ): Promise<void> {
    // The lock `update` keeps new children out; `no key update` would not.
    await withOwnRecord(context, resource, id, 'update', async (inside, stored) => {
      requireVersion(condition, stored.version);
      await check?.(stored, inside);
      const found: Found = new Map([[resource.name, new Set([id])]]);
      await findChildren({ inside, cascade, found }, resource, [id]);
      for (const each of [...descendantsOf(resource), resource])
        await removeFound(inside, each, [...(found.get(each.name) ?? [])]);
    });
  }
  return Object.assign(remove, { scope, conflicts: () => [...conflicts, ...removalConflicts(resource)] });
}

type Removable = Sided & Pick<AnyResource, 'table' | 'name' | 'onRemoval' | 'childRelations'>;

/** The 409s of the deletion of a record with what belongs to it. */
function removalConflicts(resource: Removable): Conflict[] {
  const relations = [resource, ...descendantsOf(resource)].flatMap(({ childRelations }) => childRelations);
  return relations.flatMap(({ cascade, conflicts: { hasChildren, tooMany } }) =>
    cascade === 'always' ? [tooMany] : [hasChildren, tooMany],
  );
}

/** The ids of the records to delete, by the names of their resources. */
type Found = Map<string, Set<string>>;

interface Deletion {
  inside: Context;
  cascade: boolean;
  found: Found;
}

/** Finds and locks the children of these parents in all relations, and what belongs to those children. */
async function findChildren(deletion: Deletion, resource: Removable, parents: string[]): Promise<void> {
  const { inside, cascade, found } = deletion;
  // Several relations to the same child are counted together, unless their `cascade` differs.
  const groups = Map.groupBy(resource.childRelations, ({ child, cascade }) => `${child.name} ${cascade}`);
  for (const relations of groups.values()) {
    const [relation] = relations as [Relation];
    const { child, conflicts } = relation;
    const ofParents = or(...relations.map(({ column }) => isAny(column, parents)));
    const isAllowed = cascade || relation.cascade === 'always';
    const ids = isAllowed ? await lockIds(inside, child, ofParents) : [];
    if (!isAllowed || ids.length > maxCascade) {
      const total = await tally(inside, child, ofParents);
      const details = seesOnlyOwn(inside, child) ? {} : { [child.plural]: total };
      if (isAllowed) throw conflicts.tooMany({ ...details, maximum: maxCascade });
      if (total > 0) throw conflicts.hasChildren(details);
    }
    const known = found.get(child.name) ?? new Set();
    const others = ids.filter(id => !known.has(id));
    for (const id of others) known.add(id);
    found.set(child.name, known);
    if (others.length > 0) await findChildren(deletion, child, others);
  }
}

async function tally({ db }: Context, { table }: AnyResource, matching: SQL | undefined): Promise<number> {
  const [row] = await orm(db).select({ total: count() }).from<PgTable>(table).where(matching);
  return row?.total ?? 0;
}

async function lockIds(
  { db }: Context,
  { table }: AnyResource,
  matching: SQL | undefined,
): Promise<string[]> {
  const rows = await orm(db)
    .select({ id: table.id })
    .from<PgTable>(table)
    .where(matching)
    // All deletions lock in this order, so that two with the same children do not deadlock.
    .orderBy(table.id)
    .limit(maxCascade + 1)
    .for('update');
  return rows.map(({ id }) => String(id));
}

/** The resources whose records may belong, directly or not, to a record of this one. Children precede parents. */
function descendantsOf(resource: Removable, seen = new Set<PgTable>([resource.table])): AnyResource[] {
  return resource.childRelations.flatMap(({ child }) => {
    if (seen.has(child.table)) return [];
    seen.add(child.table);
    return [...descendantsOf(child, seen), child];
  });
}

/** Deletes records in one statement, because they may refer to each other. */
async function removeFound(inside: Context, resource: Removable, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const { table, name, onRemoval } = resource;
  const removal = orm(inside.db).delete<PgTable>(table).where(isAny(table.id, ids)).returning();
  const removed = (await removal) as ResourceTable['$inferSelect'][];
  const writes = removed.map(record => ({
    recordId: record.id,
    version: record.version + 1,
    sides: [makeSide(resource, record)],
  }));
  await recordWrites(inside, `${name}.delete`, writes);
  await onRemoval?.(inside, ids);
}

// The ids are one parameter, because a statement has at most 65,535. A plain `any` would parse them for each row.
const isAny = (column: PgColumn, ids: string[]) =>
  sql`${column} in (select unnest(${`{${ids.join()}}`}::text::uuid[]))`;
