import { type GraphQLError, type GraphQLResolveInfo, locatedError, responsePathAsArray } from 'graphql';
import { limitError } from '../errors.ts';

/**
 * How many records, counts and empty lists may still be in the response. The cost of a document is estimated before
 * it runs, and a list without `limit` can be longer than any estimate.
 */
export class RecordBudget {
  readonly #maximum: number;
  #spent = 0;
  #refusal: GraphQLError | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get spent(): number {
    return this.#spent;
  }

  /** For each time that it is in the response: what is read once may be in it a thousand times. */
  spend(count: number): void {
    this.#spent += count;
    if (this.#spent > this.#maximum) throw this.#exceeded();
  }

  /**
   * Counts a field below the root before it is read. All fields beyond the maximum have the first one's error: to
   * make one for each of hundreds of thousands would keep the process busy for seconds.
   */
  spendLookup({ fieldNodes, path }: GraphQLResolveInfo): void {
    if (++this.#spent <= this.#maximum) return;
    this.#refusal ??= locatedError(this.#exceeded(), fieldNodes, responsePathAsArray(path));
    throw this.#refusal;
  }

  #exceeded(): GraphQLError {
    return limitError('RECORD_LIMIT_EXCEEDED', 'records', this.#spent, this.#maximum);
  }

  /** Runs reads one after the other: in parallel, each could use up the same remainder. */
  async inSequence<T>(read: (remaining: number) => Promise<T>): Promise<T> {
    const result = this.#last.then(() => read(Math.max(0, this.#maximum - this.#spent)));
    this.#last = result.catch(() => {});
    return result;
  }
}
