import { count, or, type PgColumn, type PgTable, sql } from '../../drizzle/orm.ts';
import { maxCascade, type Removal } from '../../schemas/contract.ts';
import { need } from '../access/need.ts';
import { type Condition, requireVersion } from '../core/conditions.ts';
import type { Conflict } from '../core/conflicts.ts';
import type { Context } from '../core/context.ts';
import { notFound, orNotFound } from '../core/errors.ts';
import { isId } from '../core/ids.ts';
import { capitalize } from '../core/text.ts';
import { orm } from '../database/connection.ts';
import { inTransaction, write } from '../database/write.ts';
import { deletionOf, recordWrites } from './audit.ts';
import { lockRecord } from './records.ts';
import { childrenOf, type Relation } from './relations.ts';
import type { AnyResource, Contract, Resource, ResourceTable } from './resource.ts';

interface RemovalRules<Stored> {
  /** A rule of the resource, under the lock of the record: throws when it may not be deleted. A cascade from a parent asks no rule. */
  check?: (stored: Stored, inside: Context) => void | Promise<void>;
  /** The 409s of the rule. */
  conflicts?: Conflict[];
}

/**
 * A function that deletes a record with what belongs to it. It is a conflict when the record has children and the caller
 * did not ask for their deletion, or when they are very many.
 */
export function removalOf<C extends Contract, T extends ResourceTable>(
  resource: Resource<C, T>,
  { check, conflicts = [] }: RemovalRules<T['$inferSelect']> = {},
) {
  const removeAlone = deletionOf(resource);
  const title = capitalize(resource.noun);
  async function remove(
    context: Context,
    id: string,
    { cascade }: Removal,
    condition?: Condition,
  ): Promise<void> {
    need(context, 'write');
    if (!isId(id)) throw notFound(title);
    const removeAll = async (inside: Context) => {
      // The stronger lock keeps new children out.
      const stored = orNotFound(title, await lockRecord(inside, resource.table, id, 'update'));
      requireVersion(condition, stored.version);
      await check?.(stored, inside);
      const deletion = { inside, cascade, ids: new Set([id]), found: new Map() };
      await findChildren(deletion, resource, [id]);
      await deleteFound(deletion, resource);
      await removeAlone(inside, id);
    };
    const removeOne = async (inside: Context) => {
      if (!(await removeAlone(inside, id))) throw notFound(title);
    };
    const options = { turns: [id] };
    const needsLock = condition || check || childrenOf(resource).length > 0;
    return needsLock ? inTransaction(context, removeAll, options) : write(context, removeOne, options);
  }
  return Object.assign(remove, { conflicts: () => [...conflicts, ...conflictsOfRemoval(resource)] });
}

/** The 409s of the deletion of a record with what belongs to it. */
function conflictsOfRemoval(resource: Pick<AnyResource, 'table'>, seen = new Set<PgTable>()): Conflict[] {
  if (seen.has(resource.table)) return [];
  seen.add(resource.table);
  const all = childrenOf(resource).flatMap(({ child, cascade, conflicts: { hasChildren, tooMany } }) => [
    ...(cascade === 'always' ? [] : [hasChildren]),
    tooMany,
    ...conflictsOfRemoval(child, seen),
  ]);
  return [...new Map(all.map(each => [each.code, each])).values()];
}

/** The deletion of a record with its children, and theirs. */
interface Deletion {
  inside: Context;
  cascade: boolean;
  /** Of all records so far: those that belong to each other would lead in a circle. */
  ids: Set<string>;
  found: Map<AnyResource, string[]>;
}

/** Finds and locks the records of each relation that belong to these parents, and what belongs to them. */
async function findChildren(
  deletion: Deletion,
  resource: Pick<AnyResource, 'table'>,
  parents: string[],
): Promise<void> {
  const db = orm(deletion.inside.db);
  // Several relations of one child are counted together, unless a deletion means something else for each.
  const groups = Map.groupBy(childrenOf(resource), ({ child, cascade }) => `${child.name} ${cascade}`);
  for (const relations of groups.values()) {
    const [relation] = relations as [Relation];
    const { child } = relation;
    const { table } = child;
    const ofParents = or(...relations.map(({ column }) => isAny(column, parents)));
    const [{ total } = { total: 0 }] = await db
      .select({ total: count() })
      .from<PgTable>(table)
      .where(ofParents);
    if (total === 0) continue;
    refuseChildren(relation, total, deletion.cascade);
    const found = await db
      .select({ id: table.id })
      .from<PgTable>(table)
      .where(ofParents)
      // In one order for all, so that two deletions with the same children do not deadlock.
      .orderBy(table.id)
      .for('update');
    const ids = found.map(({ id }) => String(id)).filter(id => !deletion.ids.has(id));
    for (const id of ids) deletion.ids.add(id);
    deletion.found.set(child, [...(deletion.found.get(child) ?? []), ...ids]);
    await findChildren(deletion, child, ids);
  }
}

/** Deletes what was found, each resource in one statement: its records may refer to each other, whoever they belong to. */
async function deleteFound({ inside, found }: Deletion, resource: Pick<AnyResource, 'table'>): Promise<void> {
  for (const { table, name, ids } of childrenFirst(resource).map(child => ({
    ...child,
    ids: found.get(child),
  }))) {
    if (!ids?.length) continue;
    await orm(inside.db).delete(table).where(isAny(table.id, ids));
    const entries = ids.map(recordId => ({ recordId }));
    await recordWrites(inside, `${name}.delete`, entries);
  }
}

/** The resources below one, each after those that belong to it. */
function childrenFirst(resource: Pick<AnyResource, 'table'>, seen = new Set<AnyResource>()): AnyResource[] {
  return childrenOf(resource).flatMap(({ child }) => {
    if (seen.has(child)) return [];
    seen.add(child);
    return [...childrenFirst(child, seen), child];
  });
}

function refuseChildren({ child, cascade, conflicts }: Relation, total: number, asked: boolean): void {
  const details = { [child.plural]: total };
  if (!asked && cascade !== 'always') throw conflicts.hasChildren.error(details);
  if (total > maxCascade) throw conflicts.tooMany.error({ ...details, maximum: maxCascade });
}

// One parameter: a statement has at most 65,535. Selected: a plain `any` reads the whole text again for each row.
const isAny = (column: PgColumn, ids: string[]) =>
  sql`${column} in (select unnest(${`{${ids.join()}}`}::text::uuid[]))`;
