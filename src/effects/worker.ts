import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '#src/access/context.ts';
import type { Followed } from '#src/changes/followed.ts';
import { addRecords, type RecordedChange } from '#src/changes/pages.ts';
import { effectProvider } from '#src/config/providers.ts';
import { handlerTimeout } from '#src/config/timeouts.ts';
import { system, withIncludedScopes } from '#src/core/actor.ts';
import { repeat } from '#src/database/repeat.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import { eventAttributes, inSpan } from '#src/telemetry/tracing.ts';
import type { Handler, IncomingEvent } from '#src/webhooks/handler.ts';
import { findBodies } from '#src/webhooks/payloads.ts';
import { findEvents, processBatch } from '#src/webhooks/processing.ts';
import { type Batch, batchesOfThisProcess } from '#src/webhooks/queue.ts';
import type { startWorker, WorkerDependencies } from '#src/webhooks/worker.ts';
import { type Effect, type Effects, namesOfEffects } from './effect.ts';
import { leaveEffects, renewLeases, takeEffects } from './taking.ts';

/** Milliseconds between two looks at the queue without a call; more for a worker that knows no effects. */
const lookEvery = 1000;
const lookRarely = 60_000;
/** Milliseconds of pause after a look that has found something. */
const gatherFor = 20;
/** Milliseconds until leases are renewed. */
const renewEvery = 5000;
/** Milliseconds that an effect gets to end after its signal. */
const afterSignal = 1000;
/** How many effects run at once in a worker. */
const mostAtOnce = 50;

/** Leaves nothing to do: an event is processed once its effect has run. */
const done: Handler = { effect: 'It has run.', withoutCustomer: true, handle: async () => ({}) };

/** Runs effects as they come, many side by side and each outside of a transaction. */
export function startEffects(
  { settings, database, calls, metrics, log, effectTimeout = 30_000 }: WorkerDependencies,
  { effects, followed }: { effects: Effects; followed: Followed[] },
  context: Context,
  { endAttempt }: Pick<ReturnType<typeof startWorker>, 'endAttempt'>,
) {
  const names = namesOfEffects(effects);
  const handlers = new Map([[effectProvider, new Map(names.map(name => [name, done]))]]);
  // What is done around effects changes no record: followers of changes need not look.
  const upkeep: Context = { ...context, db: database.upkeep };
  /** What runs, by the id of its batch. */
  const running = new Map<string, { ending: AbortController; run: Promise<void> }>();
  const isEmbedded = database.kind === 'embedded';
  let renewedAt = performance.now();
  let isClosing = false;

  /** Renews the leases, and ends the effects that other workers have taken over: a record has one at a time. */
  async function renew(): Promise<void> {
    renewedAt = performance.now();
    const renewed = await renewLeases(upkeep.db);
    for (const [id, { ending }] of running)
      if (!renewed.has(id)) ending.abort(new Error('The lease was over.'));
  }

  /** Takes what is due; returns the milliseconds until the next look, undefined if nothing was due. */
  async function look(): Promise<number | undefined> {
    if (!isEmbedded && performance.now() - renewedAt > renewEvery) await renew();
    const most = isClosing ? 0 : mostAtOnce - running.size;
    if (most === 0) return undefined;
    const taken = await takeEffects(upkeep, names, most, isEmbedded);
    for (const batch of taken) {
      const ending = new AbortController();
      const run = work(batch, ending).finally(() => {
        running.delete(batch.id);
        batchesOfThisProcess.delete(batch.id);
        // There is room for another effect, perhaps of the same record.
        looking.workNow();
      });
      running.set(batch.id, { ending, run });
    }
    return taken.length > 0 ? gatherFor : undefined;
  }

  async function work(batch: Batch, ending: AbortController): Promise<void> {
    try {
      const found = await findEvents(upkeep.db, { fingerprints: batch.fingerprints });
      // A provider may send the key of an effect as the id of an event.
      const event = found.find(({ provider }) => provider === effectProvider);
      if (!event) throw new Error('The database does not show the event.');
      const effect = effects[String(event.type)];
      if (effect) await call(effect, event, ending);
      // Without an effect, the event is ignored.
      metrics.countProcessed(await processBatch(upkeep, handlers, batch), context.now());
    } catch (error) {
      const text = 'The end of an effect could not be stored. It is tried again.';
      await endAttempt(error, batch).catch(err => log.warn({ err }, text));
    }
  }

  /** Calls the effect of a change, and returns when it has. Throws what it throws, or that its time is over. */
  async function call(effect: Effect, event: IncomingEvent, ending: AbortController): Promise<void> {
    const { id, eventId: key, type: name } = event as IncomingEvent & { eventId: string; type: string };
    const change = await readChange(event);
    const { signal } = ending;
    signal.throwIfAborted();
    const actor = { ...system(name), scopes: withIncludedScopes(['write']) };
    const own = { ...context, actor, deadline: performance.now() + effectTimeout };
    const tools = { key, signal, log, context: own, settings };
    const noAnswer = new Error(`No answer within ${effectTimeout / 1000} s.`);
    const timer = setTimeout(() => ending.abort(noAnswer), effectTimeout);
    const attributes = eventAttributes(id, key);
    const called = inSpan('run effect', { attributes }, async () => effect(change, tools));
    const late = once(signal, 'abort').then(() => sleep(afterSignal, true, { ref: false }));
    try {
      if (await Promise.race([called.then(() => false), late]))
        log.warn({ effect: name }, 'An effect goes on after its signal. It counts as ended.');
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
    }
    signal.throwIfAborted();
  }

  /** The change of an event, with the record as it is now, once the database shows it. */
  async function readChange({ id, fingerprint }: IncomingEvent) {
    const found = await findBodies(upkeep.db, { fingerprints: arrayText([fingerprint]) });
    const { body } = found.find(stored => stored.id === id) ?? {};
    const change = { ...(JSON.parse(String(body)) as RecordedChange), record: null };
    const reading = { ...context, db: database.reads };
    while ((await addRecords(reading, followed, [change])) === 0) await sleep(50);
    return change;
  }

  const looking = repeat({
    work: look,
    every: names.length > 0 ? lookEvery : lookRarely,
    cannotTell: () => !database.available(),
    log,
    away: 'Effects cannot be taken.',
    back: 'Effects are taken again.',
  });
  calls.effects.onCall(looking.workNow);

  return {
    /** Gives effects that run the time of requests, then leaves them to other workers. */
    async close(): Promise<void> {
      // Looks go on, because leases are renewed.
      isClosing = true;
      const ended = Promise.all([...running.values()].map(({ run }) => run));
      await Promise.race([ended, sleep(handlerTimeout(settings), undefined, { ref: false })]);
      await looking.close();
      if (running.size === 0) return;
      await leaveEffects(upkeep.db).catch(() => {});
      for (const { ending } of running.values()) ending.abort(new Error('The worker ends.'));
      await Promise.race([ended, sleep(afterSignal / 2, undefined, { ref: false })]);
    },
  };
}
