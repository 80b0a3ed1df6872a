import { type GraphQLError, type GraphQLResolveInfo, locatedError, responsePathAsArray } from 'graphql';
import { limitError } from '../errors.ts';

const maximum = 50_000;

/**
 * How many records, counts and empty lists may still be in the response. The cost of a document is estimated before
 * it runs, and a list without `limit` can be longer than any estimate.
 */
export function openBudget() {
  let spent = 0;
  let refusal: GraphQLError | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const exceeded = () => limitError('RECORD_LIMIT_EXCEEDED', 'records', spent, maximum);
  return {
    spent: () => spent,
    /** For each time that it is in the response: what is read once may be in it a thousand times. */
    spend(count: number): void {
      spent += count;
      if (spent > maximum) throw exceeded();
    },
    /**
     * Counts a field below the root before it is read. All fields beyond the maximum have the first one's error: to
     * make one for each of hundreds of thousands would keep the process busy for seconds.
     */
    spendLookup({ fieldNodes, path }: GraphQLResolveInfo): void {
      if (++spent <= maximum) return;
      refusal ??= locatedError(exceeded(), fieldNodes, responsePathAsArray(path));
      throw refusal;
    },
    /** Runs reads one after the other: in parallel, each could use up the same remainder. */
    async inSequence<T>(read: (remaining: number) => Promise<T>): Promise<T> {
      const result = last.then(() => read(Math.max(0, maximum - spent)));
      last = result.catch(() => {});
      return result;
    },
  };
}
