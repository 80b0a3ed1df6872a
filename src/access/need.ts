import type { Scope } from '../../schemas/apiKey.ts';
import type { Context } from '../core/context.ts';
import { AppError } from '../core/errors.ts';

/** The one access rule. Every service function calls it first. */
export function need({ actor }: Pick<Context, 'actor'>, scope: Scope): void {
  if (actor.scopes.includes(scope)) return;
  if (actor.kind === 'nobody')
    throw new AppError('unauthenticated', 'Credentials are required: send `Authorization: Bearer <key>`.');
  throw new AppError('forbidden', `The scope "${scope}" is missing.`, { code: 'forbidden', scope });
}
