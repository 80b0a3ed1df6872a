import type { Log } from '../core/log.ts';

/** Closes everything the process has opened; `code` is the exit code. */
type Close = (code: number) => Promise<void>;

/** The end of the process, by a signal or a failure. It exits at once while there is nothing to close, or when asked twice. */
export class Ending {
  #begun = false;
  #log: Log | undefined;
  #close: Close | undefined;

  constructor() {
    // Process 1 of a container ignores signals that it does not handle.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void this.begin(signal, 0));
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** From now on, the process ends by closing. */
  prepare(log: Log, close: Close): void {
    this.#log = log;
    this.#close = close;
  }

  async begin(reason: string, code: number): Promise<void> {
    if (this.#begun) process.exit(code || 1);
    if (!this.#close) process.exit(code);
    this.#begun = true;
    this.#log?.info(`Ending: ${reason}.`);
    try {
      await this.#close(code);
      this.#log?.info('Ended.');
    } catch (error) {
      this.#log?.error({ err: error }, 'The shutdown failed.');
    }
    process.exit(code);
  }
}
