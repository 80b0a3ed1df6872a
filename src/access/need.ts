import type { Scope } from '#schemas/service/apiKey.ts';
import { AppError, refusal } from '#src/core/errors.ts';
import type { Context } from './context.ts';

/** The scopes of which a caller needs one. Where `own` is enough, src/access/ownership.ts judges each record. */
export type Need = Scope | 'read or own' | 'write or own';
export const scopesIn = (needed: Need) => needed.split(' or ') as [Scope, ...Scope[]];

/** The one access rule. Every service function calls it first. */
export function need({ actor }: Pick<Context, 'actor'>, needed: Need): void {
  const scopes = scopesIn(needed);
  if (scopes.some(scope => actor.scopes.includes(scope))) return;
  throw actor.kind === 'nobody' ? missingCredentials() : missingScope(scopes[0]);
}

export const missingCredentials = refusal(
  'The credentials are missing, invalid, expired or revoked.',
  () => new AppError('unauthenticated', 'Credentials are required: send `Authorization: Bearer <key>`.'),
);

export const missingScope = refusal(
  'The caller lacks the scope that `details` names; with the code `not_yours` the record belongs to somebody else, and with `no_person` the token to no user yet.',
  (scope: Scope) =>
    new AppError('forbidden', `The scope "${scope}" is missing.`, { code: 'forbidden', scope }),
  'write',
);
