import type { Log } from '../core/log.ts';
import { exit } from './exit.ts';

/** The end of the process, by a signal or a failure. It exits at once before `prepare`, and at a second signal. */
export class Ending {
  begun = false;
  #prepared: { log: Log; close: (code: number) => Promise<void> } | undefined;

  constructor() {
    // Process 1 of a container ignores signals that it does not handle.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void this.begin(signal, 0));
  }

  /** From now on, `close` runs before the process exits. */
  prepare(log: Log, close: (code: number) => Promise<void>): void {
    this.#prepared = { log, close };
  }

  async begin(reason: string, code: number): Promise<void> {
    if (this.begun) return exit(code || 1);
    if (!this.#prepared) return exit(code);
    const { log, close } = this.#prepared;
    this.begun = true;
    log.info(`Ending: ${reason}.`);
    try {
      await close(code);
      log.info('Ended.');
    } catch (error) {
      log.error({ err: error }, 'The shutdown failed.');
    }
    await exit(code);
  }
}
