import { getTableColumns, getTableName, type PgColumn, type PgTable } from '../../drizzle/orm.ts';
import { maxCascade } from '../../schemas/records.ts';
import { type Conflict, conflict } from '../core/conflicts.ts';
import { invalid } from '../core/errors.ts';
import type { Kind } from './kinds.ts';
import { refuse } from './refusals.ts';

/** Records of a kind that belong to a parent. */
export interface Relation {
  parent: Kind;
  child: Kind;
  /** Of the child: it names the parent, by a foreign key `<table>_<column>_fkey`. */
  column: PgColumn;
  /** What a child calls the id of its parent. */
  member: string;
  /** When the children are deleted with their parent: on request is a 409 otherwise. */
  cascade: 'always' | 'on request';
  /** The 409s of a deletion of the parent. */
  conflicts: { hasChildren: Conflict; tooMany: Conflict };
}

const declared: Relation[] = [];

/** The relations in which records of this kind are the parents. */
export const childrenOfKind = (kind: Kind) => declared.filter(({ parent }) => parent === kind);

/**
 * Declares that records of a kind belong to a parent. It says what a deletion of the parent does, and explains the
 * refusals of the foreign key.
 */
export function belongsTo(
  child: Kind,
  column: PgColumn,
  parent: Kind,
  { cascade = 'on request' }: Partial<Pick<Relation, 'cascade'>> = {},
): Relation {
  const member = memberOf(child.table, column);
  const conflicts = conflictsOf(parent, child);
  refuse(`${getTableName(child.table)}_${column.name}_fkey`, ({ deleting }) =>
    deleting
      ? conflicts.hasChildren.error({})
      : invalid([{ in: 'body', path: `/${member}`, message: `is the id of no ${parent.name}` }]),
  );
  const relation = { child, column, parent, member, cascade, conflicts };
  declared.push(relation);
  return relation;
}

/** What a record calls a column. */
const memberOf = (table: PgTable, column: PgColumn) =>
  Object.entries(getTableColumns(table)).find(([, each]) => each === column)?.[0] ?? '';

function conflictsOf(parent: Kind, child: Kind): Relation['conflicts'] {
  const hasChildren = conflict<Record<string, number>>(`${parent.name}_has_${child.plural}`, {
    summary: `The ${parent.name} has ${child.plural}, and \`cascade\` is not true`,
    message: () =>
      `The ${parent.name} still has ${child.plural}. Delete them first, or with \`?cascade=true\`.`,
    example: { [child.plural]: 3 },
  });
  const tooMany = conflict<Record<string, number>>(`too_many_${child.plural}`, {
    summary: `More than ${maxCascade.toLocaleString('en')} ${child.plural} would be deleted too`,
    message: ({ [child.plural]: total }) =>
      `${total} ${child.plural} would be deleted too, and at most ${maxCascade} may be. Delete some of them first.`,
    example: { [child.plural]: 12_345, maximum: maxCascade },
  });
  return { hasChildren, tooMany };
}
