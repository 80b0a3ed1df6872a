import type { FastifyRequest } from 'fastify';
import type { Estimate } from '#plugins/graphql/documents/reader.ts';
import { costlyContext, readContext } from '#plugins/http/context.ts';
import type { Context } from '#src/access/context.ts';
import type { Budget } from '#src/access/limits/budget.ts';
import { onFirstUse } from '#src/core/kept.ts';
import { Shares } from '#src/core/shares.ts';

/** How many records, counts and lookups an operation may need without a place. */
const mostWithoutPlace = 2000;
/** How many places an account has, and how many a process. */
const [ownPlaces, allPlaces] = [2, 8];

/** The places: slots that only costly operations need. */
export function openPlaces() {
  const places = new Shares(ownPlaces, allPlaces);

  /** Does the work. An operation that may be costly waits for a place, and gets the connection for costly reads. */
  function inPlace<T>(
    request: FastifyRequest,
    { most }: Estimate,
    budget: Budget,
    work: (context: Context) => Promise<T>,
  ): Promise<T> {
    if (most <= mostWithoutPlace) return work(readContext(request));
    return places.inTurn(request.caller.account.name, budget.payer.deadline, async () => {
      budget.check();
      // Operations that ran meanwhile may have used up the rate limit.
      await budget.charge(0);
      return work(costlyContext(request));
    });
  }

  /** A place, taken from the first call of `below` until `end`; none if the operation is cheap. */
  function laterIn(request: FastifyRequest, estimate: Estimate, budget: Budget) {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    if (estimate.most <= mostWithoutPlace) return { end };
    const below = onFirstUse(
      () =>
        new Promise<Context>((resolve, reject) => {
          const work = async (context: Context) => {
            resolve({ ...context, budget });
            await ended;
          };
          inPlace(request, estimate, budget, work).catch(reject);
        }),
    );
    return { below, end };
  }
  return { inPlace, laterIn };
}
