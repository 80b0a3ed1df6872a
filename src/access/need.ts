import type { Scope } from '../../schemas/apiKey.ts';
import { AppError } from '../core/errors.ts';
import type { Context } from './context.ts';

/** What a caller needs. Where `own` is enough, src/access/ownership.ts judges each record. */
export type Need = Scope | 'read or own' | 'write or own';
export const scopesOf = (needed: Need) => needed.split(' or ') as [Scope, ...Scope[]];

/** The one access rule. Every service function calls it first. */
export function need({ actor }: Pick<Context, 'actor'>, needed: Need): void {
  const scopes = scopesOf(needed);
  if (scopes.some(scope => actor.scopes.includes(scope))) return;
  if (actor.kind === 'nobody')
    throw new AppError('unauthenticated', 'Credentials are required: send `Authorization: Bearer <key>`.');
  const [scope] = scopes;
  throw new AppError('forbidden', `The scope "${scope}" is missing.`, { code: 'forbidden', scope });
}
