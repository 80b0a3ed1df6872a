import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from '@sinclair/typebox';
import type { Context } from '#src/access/context.ts';
import type { Followed } from '#src/changes/followed.ts';
import { addRecords, type RecordedChange } from '#src/changes/pages.ts';
import { handlerTimeout } from '#src/config/timeouts.ts';
import { system, withIncludedScopes } from '#src/core/actor.ts';
import { repeat } from '#src/database/repeat.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import { eventAttributes, inSpan } from '#src/telemetry/tracing.ts';
import type { IncomingEvent } from '#src/webhooks/handler.ts';
import { payloadReader } from '#src/webhooks/payloads.ts';
import { findEvents } from '#src/webhooks/processing.ts';
import { type Batch, batchesOfThisProcess } from '#src/webhooks/queue.ts';
import type { startWorker, WorkerDependencies } from '#src/webhooks/worker.ts';
import type { Effect, Effects } from './effect.ts';
import { finishEffect, ignoreUnknown, leaveEffects, renewLeases, takeEffects } from './taking.ts';

/** Milliseconds between two looks at the queue without a call, and of pause after a look that has found something. */
const [lookEvery, gatherFor] = [1000, 20];
/** Milliseconds until leases are renewed. */
const renewEvery = 5000;
/** Milliseconds that an effect gets to end after its signal. */
const afterSignal = 1000;
/** How many effects run at once in a worker. */
const mostAtOnce = 50;

type Change = Parameters<Effect>[0];
const readChanges = payloadReader(Type.Unsafe<RecordedChange>({}));

/** Runs effects as they come, many side by side and each outside of a transaction. */
export function startEffects(
  { settings, database, calls, metrics, log, effectTimeout = 30_000 }: WorkerDependencies,
  { effects, followed }: { effects: Effects; followed: Followed[] },
  context: Context,
  { endAttempt }: Pick<ReturnType<typeof startWorker>, 'endAttempt'>,
) {
  const names = Object.keys(effects);
  // What is done around effects changes no record: followers of changes need not look.
  const upkeep: Context = { ...context, db: database.upkeep };
  /** What runs, by what ends it. */
  const running = new Map<AbortController, Promise<void>>();

  /** Takes what is due; returns the milliseconds until the next look, undefined if nothing was due. */
  async function look(): Promise<number | undefined> {
    const most = mostAtOnce - running.size;
    if (most === 0 || names.length === 0) return undefined;
    const taken = await takeEffects(upkeep, names, most, database.kind === 'embedded');
    for (const batch of taken) {
      const ending = new AbortController();
      const run = work(batch, ending).finally(() => {
        running.delete(ending);
        batchesOfThisProcess.delete(batch.id);
        // There is room for another effect, perhaps of the same record.
        looking.workNow();
      });
      running.set(ending, run);
    }
    return taken.length > 0 ? gatherFor : undefined;
  }

  async function work(batch: Batch, ending: AbortController): Promise<void> {
    try {
      const [event] = await findEvents(upkeep.db, { fingerprints: arrayText(batch.fingerprints) });
      if (!event) throw new Error('The database does not show the event.');
      const attributes = eventAttributes(event.id, event.eventId);
      await inSpan('run effect', { attributes }, () => call(event, ending));
      if (await finishEffect(upkeep, batch, event)) metrics.eventsProcessed.inc();
    } catch (error) {
      const text = 'The end of an effect could not be stored. It is tried again.';
      await endAttempt(error, batch).catch(err => log.warn({ err }, text));
    }
  }

  /** Calls the effect of a change, and returns when it has. Throws what it throws, or that its time is over. */
  async function call(event: IncomingEvent, ending: AbortController): Promise<void> {
    const name = String(event.type);
    const change = await readChange(event);
    const { signal } = ending;
    signal.throwIfAborted();
    const over = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    const noAnswer = new Error(`No answer within ${effectTimeout / 1000} s.`);
    const timer = setTimeout(() => ending.abort(noAnswer), effectTimeout);
    const actor = { ...system(name), scopes: withIncludedScopes(['write']) };
    const own = { ...context, actor, deadline: performance.now() + effectTimeout };
    const tools = { key: String(event.eventId), signal, log, context: own, settings };
    // An effect that is no async function may throw before it returns a promise.
    const called = (async () => effects[name]?.(change, tools))();
    try {
      await Promise.race([called, over]);
    } catch (error) {
      if (!signal.aborted) throw error;
      const hasEnded = called.catch(() => {}).then(() => true);
      if (!(await Promise.race([hasEnded, sleep(afterSignal, false, { ref: false })])))
        log.warn({ effect: name }, 'An effect goes on after its signal. It counts as ended.');
      throw signal.reason;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The change of an event, with the record as it is now, once the database shows it. */
  async function readChange(event: IncomingEvent): Promise<Change> {
    for await (const { payload } of readChanges(upkeep, [event]))
      for (;;) {
        const change = { ...payload, record: null };
        const [shown] = await addRecords({ ...context, db: database.reads }, followed, [change]);
        if (shown) return shown as Change;
        await sleep(50);
      }
    throw new Error('The database does not show the change.');
  }

  const repeated = (work: () => Promise<number | undefined>, every: number) =>
    repeat({
      work,
      every,
      cannotTell: () => !database.available(),
      log,
      away: 'Effects cannot be taken.',
      back: 'Effects are taken again.',
    });
  const looking = repeated(look, lookEvery);
  const tending = repeated(async () => {
    if (running.size > 0) await renewLeases(upkeep);
    await ignoreUnknown(upkeep, names);
    return undefined;
  }, renewEvery);
  calls.onCall(looking.workNow);

  return {
    /** Gives effects that run the time of requests, then leaves them to other workers. */
    async close(): Promise<void> {
      await looking.close();
      const ended = Promise.all(running.values());
      await Promise.race([ended, sleep(handlerTimeout(settings), undefined, { ref: false })]);
      await tending.close();
      if (running.size === 0) return;
      await leaveEffects(upkeep).catch(() => {});
      for (const ending of running.keys()) ending.abort(new Error('The worker ends.'));
    },
  };
}
