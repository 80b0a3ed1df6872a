import type { Side } from '#drizzle/tables/service/auditLog.ts';
import { invalid } from '#src/core/errors.ts';
import { databaseFailure } from '#src/database/databaseErrors.ts';
import type { AnyResource } from './resource.ts';

/** What `makeSide` needs to know of a resource. */
export type Sided = Pick<AnyResource, 'owner' | 'counted' | 'parentRelations'>;

/** The members of a record by which its changes are chosen: its owner, its parents, and those with few values. */
export function makeSide({ owner, counted, parentRelations }: Sided, record: object): Side {
  const members = [...counted, ...parentRelations.map(({ member }) => member)];
  if (owner) members.push(owner);
  return Object.fromEntries(members.map(member => [member, record[member as keyof object]]));
}

/** The error about a member that names no parent. */
export const noParent = (member: string, { noun }: Pick<AnyResource, 'noun'>) =>
  invalid([{ in: 'body', path: `/${member}`, message: `is the id of no ${noun}` }]);

/** Writes a record, and turns the refusal of a constraint into the error that clients get. */
export async function writeRecord<T>(
  { unique, parentRelations }: Pick<AnyResource, 'unique' | 'parentRelations'>,
  written: PromiseLike<T>,
): Promise<T> {
  try {
    return await written;
  } catch (error) {
    const constraint = databaseFailure(error)?.constraint;
    const taken = unique.find(({ key }) => key === constraint)?.taken();
    // A foreign key refuses only a write of a child: a deletion of the parent has locked it and its children.
    const relation = parentRelations.find(({ foreignKey }) => foreignKey === constraint);
    throw taken ?? (relation ? noParent(relation.member, relation.parent) : error);
  }
}
