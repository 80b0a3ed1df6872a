import { limitError } from '../errors.ts';

/**
 * How many records may still be in the response. The cost of a document is estimated before it runs, and a list without
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

  /** For each time that a record is in the response: one that is read once may be in it a thousand times. */
  spend(records: { length: number }, times = 1): void {
    this.#spent += records.length * times;
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
