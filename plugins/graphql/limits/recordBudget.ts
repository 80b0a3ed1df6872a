import { limitError } from '../errors.ts';

/**
 * How many records a request may still read. The cost of a document is estimated before it runs, and a list without
 * `limit` can be longer than any estimate.
 */
export class RecordBudget {
  readonly #maximum: number;
  #spent = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get spent(): number {
    return this.#spent;
  }

  spend(records: { length: number }): void {
    this.#spent += records.length;
    if (this.#spent > this.#maximum)
      throw limitError('RECORD_LIMIT_EXCEEDED', 'records', this.#spent, this.#maximum);
  }

  /** Runs reads one after the other: in parallel, each could use up the same remainder. */
  async inSequence<T>(read: (remaining: number) => Promise<T>): Promise<T> {
    const result = this.#last.then(() => read(Math.max(0, this.#maximum - this.#spent)));
    this.#last = result.catch(() => {});
    return result;
  }
}
