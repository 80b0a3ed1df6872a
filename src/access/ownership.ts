import { AppError, notFound } from '#src/core/errors.ts';
import { capitalize } from '#src/core/text.ts';
import type { Context } from './context.ts';

/** Who owns the records of a resource. It matters for callers whose only scope is `own`. */
export interface Ownership {
  /** The member that holds the id of the owner; `id` for users. If there is none, `own` writes nothing. */
  owner?: string | undefined;
  /** Whether `own` reads only the caller's records; `read` reads all. */
  isPrivate: boolean;
}

type Caller = Pick<Context, 'actor'>;
type Owned = Ownership & { noun: string };

export const noPerson = (code: 'forbidden' | 'not_found') =>
  new AppError(code, 'This token belongs to no user yet: register with `POST /api/me`.', {
    code: 'no_person',
  });

const notYours = (path?: string) =>
  new AppError('forbidden', 'That is not yours.', { code: 'not_yours', ...(path && { path }) });

/** Whether the caller may see only their own records of a resource. */
export const seesOnlyOwn = ({ actor }: Caller, { isPrivate }: Ownership) =>
  isPrivate && !actor.scopes.includes('read');

const isTheirs = ({ actor: { person = null } }: Caller, { owner = '' }: Ownership, record: object) =>
  person !== null && record[owner as keyof object] === person;

/** The record, or undefined if the caller may not know of it. */
export const visible = <T extends object>(caller: Caller, resource: Ownership, record: T | undefined) =>
  record && seesOnlyOwn(caller, resource) && !isTheirs(caller, resource, record) ? undefined : record;

/** Refuses a write of a record that is not the caller's, unless they have `write`. */
export function requireOwner(caller: Caller, resource: Owned, record: object): void {
  const { scopes, person } = caller.actor;
  if (scopes.includes('write') || isTheirs(caller, resource, record)) return;
  if (seesOnlyOwn(caller, resource)) throw notFound(capitalize(resource.noun));
  throw person === null ? noPerson('forbidden') : notYours();
}

/** Refuses members of a new or changed record that give it to somebody else, unless the caller has `write`. */
export function requireOwnMember({ actor }: Caller, { owner = '' }: Ownership, input: object): void {
  const { scopes, person } = actor;
  if (scopes.includes('write') || owner === 'id' || !(owner in input)) return;
  if (person === null) throw noPerson('forbidden');
  if (input[owner as keyof object] !== person) throw notYours(`/${owner}`);
}
