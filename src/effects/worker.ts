import { setTimeout as sleep } from 'node:timers/promises';
import DataLoader from 'dataloader';
import type { RecordedChange } from '#schemas/service/change.ts';
import type { Context } from '#src/access/context.ts';
import type { Followed } from '#src/changes/followed.ts';
import { addRecords } from '#src/changes/pages.ts';
import { handlerTimeout } from '#src/config/timeouts.ts';
import { system, withIncludedScopes } from '#src/core/actor.ts';
import { isLockedOut } from '#src/database/databaseErrors.ts';
import { repeat } from '#src/database/repeat.ts';
import { eventAttributes, inSpan } from '#src/telemetry/tracing.ts';
import type { Retries } from '#src/webhooks/processing.ts';
import { died, reportFailure, type WorkerDependencies } from '#src/webhooks/worker.ts';
import { callEffect } from './attempt.ts';
import type { Effect, Effects } from './effect.ts';
import * as leases from './leases.ts';

/** Milliseconds between two looks at the queue without a call, and of pause after a look that has found something. */
const [lookEvery, gatherFor] = [1000, 20];
/** Milliseconds until the end of an effect is stored. */
const finishWithin = 5;
/** How many effects run at once in a worker. */
const mostAtOnce = 50;

/** Runs effects as they come, many side by side and each outside of a transaction. */
export function startEffects(
  dependencies: WorkerDependencies,
  { effects, followed }: { effects: Effects; followed: Followed[] },
  context: Context,
) {
  const { settings, database, calls, metrics, log, retryDelay = 5, effectTimeout = 30_000 } = dependencies;
  const names = Object.keys(effects);
  // What is done around effects changes no record: followers of changes need not look.
  const upkeep: Context = { ...context, db: database.upkeep };
  const running = new Set<Promise<void>>();
  const leaving = new AbortController();

  /** Effects that end at nearly the same moment share a commit. */
  const finishing = new DataLoader((done: readonly leases.Done[]) => leases.finishEffects(upkeep, done), {
    cache: false,
    batchScheduleFn: finish => void setTimeout(finish, finishWithin),
  });

  /** Takes what is due; returns the milliseconds until the next look, undefined if nothing was due. */
  async function look(): Promise<number | undefined> {
    const most = mostAtOnce - running.size;
    if (most === 0 || names.length === 0) return undefined;
    const found = await leases.takeEffects(upkeep, names, most, runAll);
    return found > 0 ? gatherFor : undefined;
  }

  function runAll(taken: leases.Taken[]): Promise<unknown> {
    const events = leases.eventsOfEffects(upkeep, taken);
    const runs = taken.map(async each => {
      try {
        await run(
          each,
          (await events).find(event => event.fingerprint.equals(each.fingerprint)),
        );
      } catch (err) {
        log.warn({ err }, 'The end of an effect could not be stored. It is tried again.');
      }
    });
    for (const each of runs) {
      running.add(each);
      void each.then(() => {
        running.delete(each);
        // There is room for another effect, perhaps of the same record.
        looking.workNow();
      });
    }
    return Promise.all(runs);
  }

  async function run(taken: leases.Taken, event: leases.EffectEvent | undefined): Promise<void> {
    const change = event && (await readChange(event));
    if (!change) return leases.delayEffect(upkeep, taken);
    const { id, eventId, type, traceparent } = event;
    const name = String(type);
    const actor = { ...system(name), scopes: withIncludedScopes(['write']) };
    const tools = { key: String(eventId), log, settings, context: { ...context, actor } };
    const span = { parent: traceparent ?? undefined, attributes: eventAttributes(id, eventId) };
    const limits = { timeout: effectTimeout, leaving: leaving.signal };
    try {
      await inSpan('run effect', span, () => callEffect(effects[name] as Effect, change, tools, limits));
    } catch (error) {
      // Another worker tries it again.
      if (!leaving.signal.aborted) await fail(taken, error, { delay: retryDelay });
      return;
    }
    if (await finishing.load({ ...taken, id })) metrics.eventsProcessed.inc();
  }

  /** The change, with the record as it is now; undefined if the database does not show it yet. */
  async function readChange({ body }: leases.EffectEvent) {
    const change: RecordedChange = JSON.parse(body.toString());
    const db = database.reads;
    const [shown] = await addRecords({ ...context, db }, followed, [{ ...change, record: null }]);
    return shown as Parameters<Effect>[0] | undefined;
  }

  async function fail(taken: leases.Taken, error: unknown, retries: Omit<Retries, 'most'>): Promise<void> {
    const most = settings.WEBHOOK_RETRIES;
    const failure = await leases.failEffect(upkeep, taken, error, { most, ...retries });
    if (failure) reportFailure(dependencies, failure, error);
  }

  /** Renews the leases of this worker, ends the attempts of those that have died, and ignores what nobody knows. */
  async function tend(): Promise<undefined> {
    await leases.renewLeases(upkeep);
    const dead = await leases.deadEffects(upkeep, database.kind === 'embedded');
    // They are due at once, and keep their turn: the lease was pause enough.
    for (const taken of dead) await fail(taken, died(), { delay: 0, alone: false });
    if (dead.length > 0) looking.workNow();
    await leases.ignoreUnknown(upkeep, names);
    return undefined;
  }

  const repeated = (work: () => Promise<number | undefined>, every: number) =>
    repeat({
      work,
      every,
      cannotTell: error => !database.available() || isLockedOut(error),
      log,
      away: 'Effects cannot be taken.',
      back: 'Effects are taken again.',
    });
  const looking = repeated(look, lookEvery);
  const tending = repeated(tend, leases.renewEvery * 1000);
  calls.onCall(looking.workNow);

  return {
    /** Gives effects that run the time of requests, then leaves them to other workers. */
    async close(): Promise<void> {
      await looking.close();
      const ended = Promise.all(running);
      await Promise.race([ended, sleep(handlerTimeout(settings), undefined, { ref: false })]);
      await tending.close();
      if (running.size === 0) return;
      await leases.leaveAll(upkeep).catch(() => {});
      leaving.abort();
    },
  };
}
