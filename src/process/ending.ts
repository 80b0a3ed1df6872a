import { exit } from './exit.ts';
import { closeRuntime, type Runtime } from './runtime.ts';

/** Ends the process at a signal: at once if `prepare` was not called, or at a second signal. */
export class Ending {
  begun = false;
  #prepared: { runtime: Runtime; close: () => Promise<void> } | undefined;

  constructor() {
    // Process 1 of a container ignores signals that it does not handle.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void this.#begin(signal));
  }

  /** Makes a signal run `close` before the process exits. */
  prepare(runtime: Runtime, close: () => Promise<void>): void {
    this.#prepared = { runtime, close };
  }

  async #begin(signal: string): Promise<void> {
    if (this.begun) return exit(1);
    if (!this.#prepared) return exit(0);
    const { runtime, close } = this.#prepared;
    const { log } = runtime;
    this.begun = true;
    log.info(`Ending: ${signal}.`);
    try {
      await close();
      await closeRuntime(runtime);
      log.info('Ended.');
    } catch (error) {
      log.error({ err: error }, 'The shutdown failed.');
    }
    await exit(0);
  }
}
