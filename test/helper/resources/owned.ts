import type { Test } from 'tap';
import { rankedScopes, type Scope } from '#schemas/service/apiKey.ts';
import { type Need, scopesIn } from '#src/access/need.ts';
import type { AnyResource } from '#src/records/resource.ts';
import { bearer, openIssuer } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { specimen } from '#test/world/specimens.ts';
import { splinter } from '#test/world/splinters.ts';
import { completeResources, makeRecord, newBody, newPerson } from './records.ts';

/** Who asks: the scopes of their token, and whether there is a user behind it. */
interface Caller {
  name: string;
  scopes?: Scope[];
  isPerson?: true;
}
const callers: Caller[] = [
  { name: 'nobody' },
  ...rankedScopes.map(scope => ({
    name: scope,
    scopes: rankedScopes.slice(0, rankedScopes.indexOf(scope) + 1),
  })),
  { name: 'own', scopes: ['own'], isPerson: true },
  { name: 'own without a person', scopes: ['own'] },
  { name: 'read and own', scopes: ['read', 'own'], isPerson: true },
  { name: 'write and own', scopes: ['read', 'write', 'own'], isPerson: true },
];

/** A case: a caller, and a record that belongs to the caller, if that is a person, or to somebody else. */
export interface AccessCase {
  caller: Caller;
  resource: AnyResource;
  isOwn: boolean;
}
export const cellsOf = (resource: AnyResource): AccessCase[] =>
  callers.flatMap(caller => [true, false].map(isOwn => ({ caller, resource, isOwn })));
export const nameOf = ({ caller, isOwn }: AccessCase) => `${caller.name}, ${isOwn ? 'own' : "another's"}`;

const similar: string[] = [specimen.name, splinter.name];
/** Resources that differ in access: of those in test/world, a join, a private one and one without an owner. */
export const distinctResources = completeResources.filter(({ name }) => !similar.includes(name));

/** The resources whose records belong to a user, without users themselves. */
export const ownedResources = completeResources.filter(({ owner }) => owner && owner !== 'id');

interface Asked {
  scope: Need;
  writes?: boolean;
  creates?: boolean;
}
/** What a caller must get, by the rule in the words of those who rely on it. */
export function expected({ caller, resource, isOwn }: AccessCase, { scope, writes, creates }: Asked) {
  const { scopes, isPerson } = caller;
  if (!scopes) return 401;
  const [usual, own] = scopesIn(scope);
  if (scopes.includes(usual)) return 'done';
  if (!own || !scopes.includes(own)) return 'forbidden';
  const isHidden = resource.isPrivate && !scopes.includes('read');
  if ((isOwn && isPerson) || !(writes || isHidden)) return 'done';
  if (isHidden && !creates) return 404;
  return isPerson ? 'not_yours' : 'no_person';
}

/** Builds a service that requires tokens, and functions that make the tokens and the records. */
export async function buildOwned(t: Test) {
  const database = await openTestDatabase(t);
  const issuer = await openIssuer(t);
  const service = await build(t, { database, settings: issuer.settings });
  // Calls an application that lets everybody do everything.
  const { call } = await build(t, { database });
  let made = 0;

  /** Makes a user and the headers of a token; `isLinked` makes the token stand for the user. */
  async function newToken(scopes: string[] = ['own'], isLinked = true) {
    const { id } = (await call('POST', '/api/users', 201, { body: newPerson() })).body;
    const subject = `person ${++made}`;
    const body = { issuer: issuer.settings.AUTH_ISSUER, subject };
    if (isLinked) await call('POST', `/api/users/${id}/identities`, 201, { body });
    return { id, headers: bearer(await issuer.sign({ sub: subject, scope: scopes.join(' ') })) };
  }

  /** Returns the member with the owner, and parents that the owner may see. */
  async function membersOf(resource: AnyResource, owner: string): Promise<Record<string, string>> {
    const members: Record<string, string> = {};
    if (resource.owner && resource.owner !== 'id') members[resource.owner] = owner;
    for (const { parent, member } of resource.parentRelations)
      if (parent.isPrivate && parent !== resource && member !== resource.owner)
        members[member] = (await makeRecord(call, parent, await membersOf(parent, owner))).id;
    return members;
  }

  async function prepare({ caller: { scopes = [], isPerson }, resource, isOwn }: AccessCase) {
    const { id, headers } = await newToken(scopes, isPerson === true);
    const owner = isOwn ? id : (await newToken([], false)).id;
    /** Returns what the owner could send, with other parents each time: those of a join may be unique. */
    const newInput = async () => newBody(call, resource, await membersOf(resource, owner));
    const record =
      resource.owner === 'id'
        ? (await call('GET', `/api/users/${owner}`, 200)).body
        : await makeRecord(call, resource, await membersOf(resource, owner));
    return { headers: scopes.length > 0 ? headers : {}, record, newInput };
  }
  return { ...service, call, newToken, prepare, database };
}
