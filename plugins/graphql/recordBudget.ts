import { limitError } from './errors.ts';

/**
 * How many records one request may still read. The cost of a document is a guess made before it runs, and a
 * list without `limit` can be longer than any guess; this is the count of what was really read.
 */
export class Allowance {
  readonly #maximum: number;
  #read = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get read(): number {
    return this.#read;
  }

  take<T extends { length: number }>(records: T): T {
    this.#read += records.length;
    if (this.#read > this.#maximum)
      throw limitError('RECORD_LIMIT_EXCEEDED', 'records', this.#read, this.#maximum);
    return records;
  }

  /** Does reads one after the other: side by side, each of them could spend the same rest. */
  async inTurn<T>(read: (rest: number) => Promise<T>): Promise<T> {
    const mine = this.#turn.then(() => read(Math.max(0, this.#maximum - this.#read)));
    this.#turn = mine.catch(() => {});
    return mine;
  }
}
