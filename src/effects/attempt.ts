import { setTimeout as sleep } from 'node:timers/promises';
import type { Effect, EffectTools } from './effect.ts';

/** Milliseconds that an effect gets to end after its signal. */
const afterSignal = 1000;

interface Limits {
  /** Milliseconds until the signal. */
  timeout: number;
  /** Aborts when the worker leaves. */
  leaving: AbortSignal;
}

/** Calls an effect, and returns when it has. Throws what it throws, or that its time is over. */
export async function callEffect(
  effect: Effect,
  change: Parameters<Effect>[0],
  given: Omit<EffectTools, 'signal'>,
  { timeout, leaving }: Limits,
): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), timeout);
  const signal = AbortSignal.any([over.signal, leaving]);
  const tools = {
    ...given,
    signal,
    context: { ...given.context, deadline: performance.now() + timeout },
  };
  let hasEnded = false;
  // An effect that is no async function may throw before it returns a promise.
  const called = (async () => effect(change, tools))().finally(() => {
    hasEnded = true;
  });
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  try {
    await Promise.race([called, stopped]);
  } catch (error) {
    if (!signal.aborted) throw error;
    await Promise.race([called.catch(() => {}), sleep(afterSignal, undefined, { ref: false })]);
    if (!hasEnded)
      given.log.warn({ key: given.key }, 'An effect goes on after its signal. It counts as ended.');
    throw new Error(`No answer within ${timeout / 1000} s.`);
  } finally {
    clearTimeout(timer);
  }
}
