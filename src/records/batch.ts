import type { Violation } from '#schemas/parts/error.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { AppError, invalid, statusByCode, tookTooLong } from '#src/core/errors.ts';
import { inTransaction } from '#src/database/write.ts';

/** A write of a batch. */
export interface BatchedWrite<R> {
  /** Does it, with the results of those before it that have ended. */
  run: (inside: Context, results: R[]) => Promise<R>;
  /** Whether it sends one statement, at once, and needs no results but these. */
  canFollow: (results: R[]) => boolean;
}

/**
 * Does several writes in their order, all or none: the first that is refused undoes the others. Statements that need no
 * answer before them are sent one behind the other: waiting for each answer cost half as much again.
 */
export async function writeAll<R>(context: Context, writes: BatchedWrite<R>[]): Promise<R[]> {
  need(context, 'write or own');
  return inTransaction(context, async inside => {
    const results: R[] = [];
    const running: Promise<R>[] = [];
    async function finish(): Promise<void> {
      for (const ended of await Promise.allSettled(running.splice(0))) {
        if (ended.status === 'rejected') throw nameOperation(results.length, ended.reason);
        results.push(ended.value);
      }
    }
    for (const { run, canFollow } of writes) {
      const isAlone = !canFollow(results);
      if (isAlone) await finish();
      running.push(run(inside, results));
      if (isAlone) await finish();
    }
    await finish();
    // Nobody waits any more: what would be committed now would be told as a failure.
    if (performance.now() > (context.deadline ?? Number.POSITIVE_INFINITY)) throw tookTooLong();
    return results;
  });
}

/** Does a step for each operation, and throws the violations of all of them together. */
export function forEachOperation<O, R>(operations: O[], step: (operation: O, n: number) => R): R[] {
  const violations: Violation[] = [];
  const results = operations.flatMap((operation, n) => {
    try {
      return [step(operation, n)];
    } catch (thrown) {
      const error = nameOperation(n, thrown);
      if (!(error instanceof AppError && Array.isArray(error.details))) throw error;
      violations.push(...error.details);
      return [];
    }
  });
  if (violations.length > 0) throw invalid(violations);
  return results;
}

/** The refusal of an operation, which says which one it was. */
function nameOperation(operation: number, error: unknown): unknown {
  // Leaves a lost race or an outage as it is: the whole batch is tried again, or fails.
  if (!(error instanceof AppError) || statusByCode[error.code] >= 500) return error;
  const { code, message, details } = error;
  if (!Array.isArray(details)) return new AppError(code, message, { ...details, operation });
  const inBatch = ({ in: part, path, message }: Violation): Violation => {
    const place = { body: `body${path}`, header: 'ifMatch', query: 'path', path: 'path' }[part];
    // A violation of the query names the parameter.
    const what = part === 'query' ? `${path.slice(1)} ${message}` : message;
    return { in: 'body', path: `/operations/${operation}/${place}`, message: what };
  };
  return new AppError(code, message, details.map(inBatch));
}
