import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { reasonForLog } from './databaseErrors.ts';

/** All times are in milliseconds. */
interface Repeated {
  /** Fails while a service is away. May return the pause until the next call, which `workNow` does not shorten. */
  work: () => Promise<number | undefined> | Promise<void>;
  /** The pause between two calls. `workNow` ends it. */
  every: number;
  /** Whether a call, or the error of a call that failed, would say nothing about the service. */
  cannotTell?: (error?: unknown) => boolean;
  onAway?: () => void;
  log: Logger;
  level?: 'warn' | 'error';
  /** What the log says, once for each outage. */
  away: string;
  back: string;
}

/**
 * Does some work again and again, never twice at once, and logs when it begins to fail and when it works again. The
 * process lives until this is closed.
 */
export function repeat(repeated: Repeated) {
  const { work, every, cannotTell = () => false, onAway, log, level = 'error' } = repeated;
  let isAway = false;
  let hasFailed = false;
  const closing = new AbortController();
  let call = new AbortController();

  function failed(error: unknown): void {
    hasFailed = true;
    if (isAway || closing.signal.aborted) return;
    isAway = true;
    log[level](reasonForLog(error), repeated.away);
    onAway?.();
  }
  function succeeded(): void {
    // A service that is nearly full accepts some writes between others that it refuses.
    if (!isAway || hasFailed) return;
    isAway = false;
    log.info(repeated.back);
  }
  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      // The call is renewed before the work, so that a `workNow` during the work ends the pause after it.
      call = new AbortController();
      let pause: number | undefined;
      try {
        if (!cannotTell()) {
          pause = (await work()) ?? undefined;
          succeeded();
        }
      } catch (error) {
        if (!cannotTell(error)) failed(error);
      }
      hasFailed = false;
      await (pause === undefined ? pauseFor(every, call.signal) : pauseFor(pause, closing.signal));
    }
  }
  // Starts after the loop is returned, because the work may use it.
  const running = Promise.resolve().then(run);

  return {
    isAway: () => isAway,
    /** Reports a failure seen elsewhere. The service is back when a call succeeds and nothing failed meanwhile. */
    failed,
    /** Ends the pause, but not one that the work returned. */
    // Without a reason, `abort` would make an error with a stack at each call.
    workNow: () => call.abort('now'),
    /** Ends any pause; settles when the running work has ended. */
    close: (): Promise<void> => {
      closing.abort();
      call.abort();
      return running;
    },
  };
}

async function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds > 0) await sleep(milliseconds, undefined, { signal }).catch(() => {});
}
