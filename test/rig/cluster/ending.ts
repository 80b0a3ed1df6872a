import { exit } from '../../../src/process/exit.ts';

/** Closes everything at the first SIGINT or SIGTERM and then exits; further signals are ignored. */
export function onInterrupt(close: () => Promise<void>): void {
  let closing = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (closing) return;
      closing = true;
      void close().finally(() => exit(0));
    });
  }
}
