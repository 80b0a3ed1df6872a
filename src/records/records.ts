import { isDeepStrictEqual } from 'node:util';
import type { Static } from '@sinclair/typebox';
import { eq, type PgTable } from '#drizzle/orm.ts';
import type { ReadOnly } from '#schemas/parts/common.ts';
import type { Context } from '#src/access/context.ts';
import { type Need, need } from '#src/access/need.ts';
import { requireOwner, requireOwnMember, seesOnlyOwn } from '#src/access/ownership.ts';
import { type Condition, requireVersion } from '#src/core/conditions.ts';
import { type Conflict, conflict } from '#src/core/conflicts.ts';
import { invalid, orNotFound } from '#src/core/errors.ts';
import { isId } from '#src/core/ids.ts';
import { readInstant, timeOfChange } from '#src/core/instants.ts';
import { mergePatch } from '#src/core/mergePatch.ts';
import { capitalize } from '#src/core/text.ts';
import { orm } from '#src/database/connection.ts';
import { fewAtATime, type Lines, oneAtATime } from '#src/database/turns.ts';
import { inTransaction, write } from '#src/database/write.ts';
import { insertWithEntry, recordWrites } from './audit.ts';
import { makeSide, noParent, writeRecord } from './relations.ts';
import type { Contract, Resource, ResourceTable } from './resource.ts';

type Lock = 'update' | 'no key update' | 'key share';

/** Returns the record with this id, locked until the transaction ends; throws not found if there is none. */
export async function lockRecord<T extends ResourceTable>(
  { db }: Context,
  { table, noun }: Pick<Resource<Contract, T>, 'table' | 'noun'>,
  id: string,
  lock: Lock,
): Promise<T['$inferSelect']> {
  const lookup = orm(db).select().from<PgTable>(table).where(eq(table.id, id)).for(lock);
  const [record] = isId(id) ? await lookup : [];
  return orNotFound(capitalize(noun), record as T['$inferSelect'] | undefined);
}

/**
 * A rule of a resource. The check of a change or a deletion runs under the lock of the record, so `stored` cannot
 * change before the write. Other records that the check reads can, unless it locks them.
 */
export interface Rule<Asked extends unknown[]> {
  /** Throws when the write is not allowed. */
  check?: (...asked: [...Asked, inside: Context]) => void | Promise<void>;
  /** The 409s that the check throws. */
  conflicts?: Conflict[];
}

/** What callers need to change or delete records. */
export const writeScope = ({ owner }: Pick<Resource, 'owner'>): Need =>
  owner === undefined ? 'write' : 'write or own';

/**
 * Works with a record under its lock, if the caller may write it. The caller is also checked before the lock: a wait
 * for it would tell strangers that the record exists, and the lock itself would make the owner wait.
 */
export async function withOwnRecord<C extends Contract, T extends ResourceTable, R>(
  context: Context,
  resource: Resource<C, T>,
  id: string,
  lock: Lock,
  work: (inside: Context, stored: T['$inferSelect']) => Promise<R>,
): Promise<R> {
  need(context, writeScope(resource));
  const { scopes } = context.actor;
  if (!scopes.includes('write')) requireOwner(context, resource, await resource.get(context, id));
  const locked = async (inside: Context) => {
    const stored = await lockRecord(inside, resource, id, lock);
    requireOwner(inside, resource, stored);
    return work(inside, stored);
  };
  return inTransaction(context, locked, { [id]: oneAtATime });
}

/** A function that creates a record and returns it. Members that are absent get their defaults. */
export function creationOf<C extends Contract, T extends ResourceTable>(
  resource: Resource<C, T>,
  { check, conflicts = [] }: Rule<[input: Static<C['create']>]> = {},
) {
  type Created = Static<C['record']> & { id: string; version: number };
  const { plural, unique, owner } = resource;
  const scope = owner === 'id' ? 'write' : writeScope(resource);
  const insert = insertWithEntry(resource);
  const defaults = memberDefaults(resource.contract);
  const isOneStatement = !check && !resource.parentRelations.some(({ parent }) => parent.isPrivate);
  async function create(context: Context, input: Static<C['create']>): Promise<Created> {
    need(context, scope);
    const members = { ...defaults, ...asStored(resource.contract, input as object) };
    requireOwnMember(context, resource, members);
    const add = async (inside: Context) => {
      if (!isOneStatement) {
        await requireVisibleParents(inside, resource, members);
        await check?.(members, inside);
      }
      return (await writeRecord(resource, insert(inside, members as never))) as Created;
    };
    // An insert waits at a unique index for other writes of its values, and at a foreign key for the parent.
    const lines: Lines = {};
    for (const { members: names } of unique) {
      const values = names.map(name => members[name]);
      if (!values.includes(null)) lines[`${plural} with ${values}`.toLowerCase()] = oneAtATime;
    }
    for (const { member } of resource.parentRelations)
      if (members[member] !== null) lines[`${plural} of ${members[member]}`] = fewAtATime;
    return check ? inTransaction(context, add, lines) : write(context, add, lines);
  }
  const thrown = () => [...takenIn(resource), ...conflicts];
  return Object.assign(create, { scope, isOneStatement, conflicts: thrown });
}

/** Refuses a parent that the caller may not know of, as if it did not exist. */
async function requireVisibleParents(
  inside: Context,
  { parentRelations }: Pick<Resource, 'parentRelations'>,
  members: Record<string, unknown>,
): Promise<void> {
  for (const { parent, member } of parentRelations) {
    const id = members[member];
    if (typeof id === 'string' && seesOnlyOwn(inside, parent) && !(await parent.find(inside, id)))
      throw noParent(member, parent);
  }
}

const takenIn = ({ unique }: Pick<Resource, 'unique'>) => unique.map(({ taken }) => taken);

/** Two functions that change a record and return it: by a complete input, and by a merge patch (RFC 7396). */
export const updatesOf = <C extends Contract, T extends ResourceTable>(
  resource: Resource<C, T>,
  rule: ChangeRule<T> = {},
) => ({
  replace: changeBy((_, input) => input, resource, rule),
  change: changeBy(merged, resource, rule),
});

type ChangeRule<T extends ResourceTable> = Rule<
  [stored: T['$inferSelect'], changes: Partial<T['$inferSelect']>]
>;

function changeBy<C extends Contract, T extends ResourceTable>(
  inputFor: (stored: object, input: object) => object,
  resource: Resource<C, T>,
  { check, conflicts = [] }: ChangeRule<T>,
) {
  type Stored = T['$inferSelect'];
  const { name, table, contract } = resource;
  // The lock `no key update` lets others write rows that refer to this one; `update` would not.
  const change = (context: Context, id: string, input: Partial<Stored>, condition?: Condition) =>
    withOwnRecord(context, resource, id, 'no key update', async (inside, stored: Stored): Promise<Stored> => {
      requireOwnMember(inside, resource, input);
      requireVersion(condition, stored.version);
      const changes = changesTo(stored, asStored(contract, inputFor(stored, input)) as Partial<Stored>);
      if (!changes) return stored;
      await requireVisibleParents(inside, resource, changes);
      await check?.(stored, changes, inside);
      const updatedAt = timeOfChange(inside.now(), stored.updatedAt);
      const written = { ...changes, version: stored.version + 1, updatedAt };
      const update = orm(inside.db).update<PgTable>(table).set(written).where(eq(table.id, id));
      await writeRecord(resource, update);
      const result = { ...stored, ...written };
      const sides = [makeSide(resource, stored), makeSide(resource, result)];
      const entry = { recordId: id, changed: Object.keys(changes), version: written.version, sides };
      await recordWrites(inside, `${name}.change`, [entry]);
      return result;
    });
  const scope = writeScope(resource);
  return Object.assign(change, { scope, conflicts: () => [...takenIn(resource), ...conflicts, stale] });
}

/** The members of a patch. Those that are objects are merged with what is stored. */
const merged = (stored: object, patch: object) =>
  Object.fromEntries(
    Object.entries(patch).map(([name, value]) => [name, mergePatch(stored[name as keyof object], value)]),
  );

export const stale = conflict('stale', {
  summary: 'The record was changed since the client read it',
  message: () => 'The record was changed since you read it. Read it again.',
  example: { version: 2 },
});

const constant: readonly string[] = ['id', 'createdAt'] satisfies ReadOnly[];
const growing: readonly string[] = ['version', 'updatedAt'] satisfies ReadOnly[];

/**
 * The members of an input that differ from the stored record. Clients may send back what they read: a constant member
 * that differs is an error, and a different `version` or `updatedAt` is a conflict with a later change.
 */
function changesTo<T extends { version: number; updatedAt: string }>(
  stored: T,
  input: Partial<T>,
): Partial<T> | undefined {
  const different = Object.entries(input).filter(
    ([name, value]) => !isDeepStrictEqual(stored[name as keyof T], value),
  );
  const message = 'is read-only and differs from the stored value';
  const refused = different.filter(([name]) => constant.includes(name));
  if (refused.length > 0) throw invalid(refused.map(([name]) => ({ in: 'body', path: `/${name}`, message })));
  if (different.some(([name]) => growing.includes(name))) throw stale({ version: stored.version });
  return different.length > 0 ? (Object.fromEntries(different) as Partial<T>) : undefined;
}

/** The input as it will be read back: times in UTC, and 0 for -0. The same value in another notation is no change. */
function asStored({ record }: Contract, input: object): Record<string, unknown> {
  const read = (name: string, value: unknown) => {
    if (typeof value !== 'string') return value === undefined ? value : JSON.parse(JSON.stringify(value));
    return record.properties[name]?.format === 'date-time' ? readInstant(value) : value;
  };
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, read(name, value)]));
}

const memberDefaults = ({ create }: Contract) =>
  Object.fromEntries(
    Object.entries(create.properties).flatMap(([name, member]) =>
      'default' in member ? [[name, member.default]] : [],
    ),
  );
