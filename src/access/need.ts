import type { Scope } from '../../schemas/apiKey.ts';
import type { Context } from '../core/context.ts';
import { AppError } from '../core/errors.ts';

/** The one rule of all doors; every service function asks it before anything else. */
export function need({ actor }: Pick<Context, 'actor'>, scope: Scope): void {
  if (actor.scopes.includes(scope)) return;
  if (actor.kind === 'nobody')
    throw new AppError('unauthenticated', 'Credentials are needed: send `Authorization: Bearer <key>`.');
  throw new AppError('forbidden', `The scope "${scope}" is missing.`, { code: 'forbidden', scope });
}
