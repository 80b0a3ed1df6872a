import { and, eq } from '#drizzle/orm.ts';
import { identities as table } from '#drizzle/tables/service/identities.ts';
import { exampleId } from '#schemas/parts/common.ts';
import type { Identity, IdentityName } from '#schemas/service/identity.ts';
import type { Context } from '#src/access/context.ts';
import { readPerson } from '#src/access/credentials/persons.ts';
import { trustNothing } from '#src/access/credentials/trust.ts';
import { need } from '#src/access/need.ts';
import { noPerson } from '#src/access/ownership.ts';
import { type Condition, requireVersion } from '#src/core/conditions.ts';
import { conflict } from '#src/core/conflicts.ts';
import { AppError, notFound } from '#src/core/errors.ts';
import { newRecord } from '#src/core/ids.ts';
import { orm } from '#src/database/connection.ts';
import { oneAtATime } from '#src/database/turns.ts';
import { inTransaction } from '#src/database/write.ts';
import { recordWrites } from '#src/records/audit.ts';
import { PagedList } from '#src/records/lists/pagedList.ts';
import type { ListQuery } from '#src/records/lists/rules.ts';
import { lockRecord } from '#src/records/records.ts';
import type { Operations } from '#src/records/resource.ts';

const { issuer, subject, createdAt, userId } = table;
const columns = { issuer, subject, createdAt };

const list = new PagedList<Identity, 'user', 'createdAt'>({
  scope: 'admin',
  table,
  columns,
  filters: { user: userId },
});

/** The resource whose records are persons. */
export type People = Operations & Required<Pick<Operations, 'create'>>;

/** A page of the identities of a user, the newest first. */
export async function listIdentities(
  context: Context,
  { resource }: People,
  id: string,
  query: ListQuery<never, 'createdAt'>,
) {
  need(context, 'admin');
  await resource.get(context, id);
  return list.byCursor(context, { ...query, user: id });
}

export const identityTaken = conflict('identity_taken', {
  summary: 'The tokens stand for another user',
  message: () => 'This identity belongs to another user. Delete it there first.',
  example: {},
});

/** Makes the tokens of an identity stand for a user; `isNew` is false if they did before. */
export async function addIdentity(context: Context, { resource }: People, id: string, name: IdentityName) {
  need(context, 'admin');
  return inTransaction(context, async inside => {
    await lockRecord(inside, resource, id, 'key share');
    const { identity, person, isNew } = await link(inside, id, name);
    if (person !== id) throw identityTaken();
    if (isNew) await recordWrites(inside, 'identity.create', [{ recordId: id }]);
    return { identity, isNew };
  });
}

/** Removes an identity of a user; throws not found if its tokens do not stand for this user. */
export async function removeIdentity(
  context: Context,
  { resource }: People,
  id: string,
  name: IdentityName,
  condition?: Condition,
): Promise<void> {
  need(context, 'admin');
  await inTransaction(context, async inside => {
    await resource.get(inside, id);
    const isOfUser = and(eq(issuer, name.issuer), eq(subject, name.subject), eq(userId, id));
    const removed = await orm(inside.db).delete(table).where(isOfUser).returning({ recordId: userId });
    if (removed.length === 0) throw notFound('Identity');
    requireVersion(condition);
    await recordWrites(inside, 'identity.delete', removed);
    inside.afterwards?.push(trustNothing);
  });
}

/** Links an identity if it stands for nobody; returns whom it stands for now. Its row is locked in either case. */
async function link(inside: Context, user: string, name: IdentityName) {
  const { id, createdAt } = newRecord(inside);
  const [linked] = await orm(inside.db)
    .insert(table)
    .values({ id, ...name, userId: user, createdAt })
    .onConflictDoUpdate({ target: [issuer, subject], set: { issuer: name.issuer } })
    .returning();
  const { id: stored, userId: person, ...identity } = linked as typeof table.$inferSelect;
  return { identity, person, isNew: stored === id };
}

/** The user whom the caller stands for, or undefined. */
export async function findMe(context: Context, { resource }: People) {
  need(context, 'own');
  return resource.find(context, context.actor.person ?? '');
}

export async function getMe(context: Context, people: People) {
  const person = await findMe(context, people);
  if (!person) throw noPerson('not_found');
  return person;
}

export const personExists = conflict('person_exists', {
  as: 'person_exists',
  summary: 'The token has a user already',
  message: () => 'This token belongs to a user already.',
  example: { id: exampleId },
});

/** Creates the user of a token that has none. */
export async function registerMe(context: Context, { create }: People, input: object) {
  need(context, 'own');
  const { kind, issuer = '', id: subject } = context.actor;
  if (kind !== 'token' || subject === null)
    throw new AppError('forbidden', 'Only a token can register: an API key has a user from the start.', {
      code: 'forbidden',
      credential: 'token',
    });
  const name = { issuer, subject };
  const once = `person ${JSON.stringify(name)}`;
  const work = async (inside: Context) => {
    // Serializes registrations with a token on all instances, or a second one would only learn that its email is taken.
    await inside.db.rows('select pg_advisory_xact_lock(hashtextextended($1, 0))', [once]);
    const known = await readPerson(inside.db, name);
    if (known !== null) throw personExists({ id: known });
    // The new person is the actor of their own creation, so the id is made before the record.
    const record = newRecord(inside);
    const actor = { ...inside.actor, scopes: ['write', 'own'] as const, person: record.id };
    const created = await create({ ...inside, actor }, { ...input, ...record } as never);
    const { person, isNew } = await link(inside, record.id, name);
    // An administrator has linked the identity meanwhile.
    if (!isNew) throw personExists({ id: person });
    inside.afterwards?.push(trustNothing);
    return created;
  };
  return inTransaction(context, work, { [once]: oneAtATime });
}
