import { getTableColumns, getTableName, type PgColumn, type PgTable } from '../../drizzle/orm.ts';
import type { Side } from '../../drizzle/tables/auditLog.ts';
import { maxCascade } from '../../schemas/contract.ts';
import { type Conflict, conflict } from '../core/conflicts.ts';
import { invalid } from '../core/errors.ts';
import { refuse } from './refusals.ts';
import type { AnyResource } from './resource.ts';

/** Records of a resource that belong to a parent. */
export interface Relation {
  parent: AnyResource;
  child: AnyResource;
  /** Of the child: it names the parent, by a foreign key `<table>_<column>_fkey`. */
  column: PgColumn;
  /** What a child calls the id of its parent. */
  member: string;
  /** What a child calls its parent, such as `author`: its list has a filter of this name. */
  name: string;
  /** What a parent calls its children in GraphQL. */
  children: string;
  /** When the children are deleted with their parent: on request is a 409 otherwise. */
  cascade: 'always' | 'on request';
  /** The 409s of a deletion of the parent. */
  conflicts: { hasChildren: Conflict; tooMany: Conflict };
}

const declared: Relation[] = [];

/** The members of a record by which its changes are chosen: whose it is, its parents, and those with few values. */
export function sideOf({ table, owner, counted }: Followed, record: object): Side {
  const members = [owner ?? [], counted, relationsOf({ table }).map(({ member }) => member)].flat();
  return Object.fromEntries(members.map(member => [member, record[member as keyof object]]));
}

type Followed = Pick<AnyResource, 'table' | 'owner' | 'counted'>;
type Named = Pick<AnyResource, 'table'>;
/** The relations in which records of this resource are the children. */
export const relationsOf = ({ table }: Named) => declared.filter(({ child }) => child.table === table);
/** Those in which they are the parents, in an order that does not depend on which module was loaded first. */
export const childrenOf = ({ table }: Named) =>
  declared
    .filter(({ parent }) => parent.table === table)
    .sort((a, b) => a.child.name.localeCompare(b.child.name));

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
  declared.push({ child, column, parent, member, name, children, cascade, conflicts });
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
