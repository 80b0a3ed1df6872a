import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { reasonForLog } from './databaseErrors.ts';

/** All times are in milliseconds. */
interface Watched {
  /** Fails while the service is away. May return the pause until the next check, which `checkNow` does not shorten. */
  check: () => Promise<number | undefined> | Promise<void>;
  /** The pause between two checks. `checkNow` ends it. */
  every: number;
  /** Whether a check, or the error of a check that failed, would say nothing about the service. */
  cannotTell?: (error?: unknown) => boolean;
  onAway?: () => void;
  log: Logger;
  level?: 'warn' | 'error';
  /** What the log says, once for each outage. */
  away: string;
  back: string;
}

/** Checks again and again whether a service is there, never twice at once. The process lives until this is closed. */
export function watchService(watched: Watched) {
  const { check, every, cannotTell = () => false, onAway, log, level = 'error' } = watched;
  let isAway = false;
  let hasFailed = false;
  const closing = new AbortController();
  let call = new AbortController();

  function failed(error: unknown): void {
    hasFailed = true;
    if (isAway || closing.signal.aborted) return;
    isAway = true;
    log[level](reasonForLog(error), watched.away);
    onAway?.();
  }
  function succeeded(): void {
    // A service that is nearly full accepts some writes between others that it refuses.
    if (!isAway || hasFailed) return;
    isAway = false;
    log.info(watched.back);
  }
  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      // The call is renewed before the check, so that a `checkNow` during the check ends the pause after it.
      call = new AbortController();
      let pause: number | undefined;
      try {
        if (!cannotTell()) {
          pause = (await check()) ?? undefined;
          succeeded();
        }
      } catch (error) {
        if (!cannotTell(error)) failed(error);
      }
      hasFailed = false;
      await (pause === undefined ? pauseFor(every, call.signal) : pauseFor(pause, closing.signal));
    }
  }
  // Starts after the watch is returned, because a check may use the watch.
  const running = Promise.resolve().then(run);

  return {
    isAway: () => isAway,
    /** Reports a failure noticed elsewhere. The service is back after a check with none since the last check. */
    failed,
    /** Ends the pause, but not one that the check returned. */
    // The reason avoids the error with a stack that `abort` would make for each call.
    checkNow: () => call.abort('now'),
    /** Ends any pause; settles when the running check has ended. */
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
