import { getTableColumns, getTableName, type PgColumn, type PgTable } from '../../drizzle/orm.ts';
import type { Side } from '../../drizzle/tables/auditLog.ts';
import { maxCascade } from '../../schemas/contract.ts';
import { conflict } from '../core/conflicts.ts';
import { invalid } from '../core/errors.ts';
import { refuse } from './refusals.ts';
import type { AnyResource, Relation } from './resource.ts';

/** What `sideOf` needs to know of a resource. */
export type Sided = Pick<AnyResource, 'owner' | 'counted' | 'parentRelations'>;

/** The members of a record by which its changes are chosen: whose it is, its parents, and those with few values. */
export function sideOf({ owner, counted, parentRelations }: Sided, record: object): Side {
  const members = [owner ?? [], counted, parentRelations.map(({ member }) => member)].flat();
  return Object.fromEntries(members.map(member => [member, record[member as keyof object]]));
}

/**
 * Declares that records of a resource belong to a parent. It says what a deletion of the parent does, and explains the
 * refusals of the foreign key.
 */
export function belongsTo(
  child: AnyResource,
  column: PgColumn,
  parent: AnyResource,
  { cascade = 'on request', children = child.plural }: Partial<Pick<Relation, 'cascade' | 'children'>> = {},
): void {
  const member = memberOf(child.table, column);
  const conflicts = conflictsOf(parent, child);
  // Not by a deletion: it has found the children, and its lock keeps new ones out.
  refuse(`${getTableName(child.table)}_${column.name}_fkey`, () => noParent(member, parent));
  const name = member.replace(/Id$/, '');
  const relation = { child, column, parent, member, name, children, cascade, conflicts };
  child.parentRelations.push(relation);
  parent.childRelations.push(relation);
  // In an order that does not depend on which module was loaded first.
  parent.childRelations.sort((a, b) => a.child.name.localeCompare(b.child.name));
}

/** The error about a member that names no parent. */
export const noParent = (member: string, { noun }: Pick<AnyResource, 'noun'>) =>
  invalid([{ in: 'body', path: `/${member}`, message: `is the id of no ${noun}` }]);

/** What a record calls a column. */
const memberOf = (table: PgTable, column: PgColumn) =>
  Object.entries(getTableColumns(table)).find(([, each]) => each === column)?.[0] ?? '';

function conflictsOf(parent: AnyResource, child: AnyResource): Relation['conflicts'] {
  const { nouns, plural, isPrivate } = child;
  const code = nouns.replaceAll(' ', '_');
  // Not everybody learns how many records of a private resource there are.
  const optional = isPrivate ? [plural] : [];
  const hasChildren = conflict<Record<string, number>>(`${parent.noun.replaceAll(' ', '_')}_has_${code}`, {
    summary: `The ${parent.noun} has ${nouns}, and \`cascade\` is not true`,
    message: () => `The ${parent.noun} still has ${nouns}. Delete them first, or with \`?cascade=true\`.`,
    example: { [plural]: 3 },
    optional,
  });
  const tooMany = conflict<Record<string, number>>(`too_many_${code}`, {
    summary: `More than ${maxCascade.toLocaleString('en')} ${nouns} would be deleted too`,
    message: () => `More than ${maxCascade} ${nouns} would be deleted too. Delete some of them first.`,
    example: { [plural]: 12_345, maximum: maxCascade },
    optional,
  });
  return { hasChildren, tooMany };
}
