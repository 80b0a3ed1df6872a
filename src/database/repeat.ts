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
  let isClosing = false;
  let isCalled = false;
  /** The pause that the last work has returned. */
  let fixed: number | undefined;
  /** Ends the pause, if there is one. */
  let endPause = () => {};

  function failed(error: unknown): void {
    hasFailed = true;
    if (isAway || isClosing) return;
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
  async function pauseFor(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    endPause = resolve;
    await promise;
    clearTimeout(timer);
  }
  async function run(): Promise<void> {
    while (!isClosing) {
      // A call during the work ends the pause after it.
      isCalled = false;
      fixed = undefined;
      try {
        if (!cannotTell()) {
          fixed = (await work()) ?? undefined;
          succeeded();
        }
      } catch (error) {
        if (!cannotTell(error)) failed(error);
      }
      hasFailed = false;
      const isOver = isClosing || (fixed === undefined ? isCalled : fixed <= 0);
      if (!isOver) await pauseFor(fixed ?? every);
    }
  }
  // Starts after the loop is returned, because the work may use it.
  const running = Promise.resolve().then(run);

  return {
    isAway: () => isAway,
    /** Reports a failure seen elsewhere. The service is back when a call succeeds and nothing failed meanwhile. */
    failed,
    /** Ends the pause, but not one that the work returned. */
    workNow: () => {
      isCalled = true;
      if (fixed === undefined) endPause();
    },
    /** Ends any pause; settles when the running work has ended. */
    close: (): Promise<void> => {
      isClosing = true;
      endPause();
      return running;
    },
  };
}
