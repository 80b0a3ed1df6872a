import { type ChangeAction, changeActions } from '#schemas/service/change.ts';
import type { Subscription } from '#schemas/service/subscription.ts';
import type { Settings } from '#schemas/settings.ts';
import type { Context } from '#src/access/context.ts';
import type { RecordedChange } from '#src/changes/pages.ts';
import { OperatorError } from '#src/core/errors.ts';

/** A committed change, with the record as it is when the effect runs; null when it is gone. */
export interface ChangeWithRecord<R> extends RecordedChange {
  changed: (keyof R & string)[];
  record: R | null;
}

/** What an effect gets besides the change. */
export interface EffectTools extends Pick<Context, 'log'> {
  /** The same at every attempt, and another for each change. */
  key: string;
  /** Aborts when the time of the attempt is over. */
  signal: AbortSignal;
  /** Calls the services, outside of a transaction, with the scopes `read` and `write`. */
  context: Context;
  settings: Settings;
}

/** What happens after a change: it succeeds when it returns, and is tried again when it throws. */
// biome-ignore lint/suspicious/noExplicitAny: an effect of any record, as a method may be one of a certain record
export type Effect<R = any> = {
  call(change: ChangeWithRecord<R>, tools: EffectTools): Promise<unknown>;
}['call'];

/** Effects by the names of their changes. */
export type Effects = Readonly<Record<string, Effect | undefined>>;

/** What the compiler knows of a resource for its effects: its name, and its record. No value has this member. */
export interface Typed<Name extends string, R> {
  readonly typed?: { name: Name; record: R };
}

/** The effects that these resources, and subscriptions, can have. */
export type EffectsOf<Resources extends Typed<string, unknown>[]> = {
  readonly [T in NonNullable<Resources[number]['typed']> as `${T['name']}.${ChangeAction}`]?: Effect<
    T['record']
  >;
} & { readonly [Name in `subscription.${'create' | 'change'}`]?: Effect<Subscription> };

/** The names of the effects; one that is undefined is none. */
export const namesOfEffects = (effects: Effects) => Object.keys(effects).filter(name => effects[name]);

/** What contexts know of effects. Refuses effects of changes that there are not: they would never run. */
export function openEffects(effects: Effects, followed: { name: string }[], call: () => void) {
  const names = new Set(namesOfEffects(effects));
  const known = new Set(followed.flatMap(({ name }) => changeActions.map(action => `${name}.${action}`)));
  // No subscription is ever deleted.
  known.delete('subscription.delete');
  const unknown = [...names].find(name => !known.has(name));
  if (unknown === undefined) return { names, call };
  throw new OperatorError(
    `No change is called '${unknown}', so it can have no effect: use one of ${[...known].join(', ')}.`,
  );
}
