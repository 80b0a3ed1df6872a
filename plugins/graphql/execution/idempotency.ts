import type { FastifyRequest } from 'fastify';
import type { Context } from '../../../src/core/context.ts';
import { type KeyedRequest, withIdempotencyKey } from '../../../src/services/idempotency.ts';
import { explain } from '../../../src/services/refusals.ts';
import { errorHeadersOf } from '../../http/errors.ts';
import type { Operation } from '../documents/reader.ts';
import { limitError, refuse } from '../errors.ts';
import { bodyOf, type Outcome } from './http.ts';

type Ran = Outcome & { records: number };

interface Answer {
  body: string;
  /** How many records it took to make. */
  records: number;
  /** Whether it was made for an earlier request. */
  replayed: boolean;
  /** Seconds to wait before a retry, if what failed was temporary. */
  retryAfter?: string | undefined;
}

/** Characters. A response that is kept must not fill the disk. */
const longestKept = 256 * 1024;

export const answerOf = (request: FastifyRequest, ran: Ran): Answer => ({
  body: bodyOf(ran, request),
  records: ran.records,
  replayed: false,
  retryAfter: retryAfterOf(ran),
});

const retryAfterOf = ({ errors = [] }: Outcome) =>
  errors
    .map(({ originalError }) => originalError && errorHeadersOf(explain(originalError))['retry-after'])
    .find(seconds => seconds !== undefined);

/** The answer to a mutation with an `Idempotency-Key`. */
export async function answerOnce(
  request: FastifyRequest,
  keyed: KeyedRequest,
  operation: Operation,
  run: (context: Context) => Promise<Ran>,
): Promise<Answer> {
  if (operation.roots !== 1)
    throw refuse('BAD_USER_INPUT', 'An operation with an Idempotency-Key must have exactly one mutation.');
  let records = 0;
  try {
    const work = async (inside: Context) => {
      const ran = await run(inside);
      if (hasFailed(ran)) throw new Failed(ran);
      records = ran.records;
      const body = bodyOf(ran, request);
      if (body.length > longestKept)
        throw new Failed({ data: null, errors: [tooLong(body.length)], records });
      return { status: 200, location: null, body };
    };
    return { ...(await withIdempotencyKey(request.context, keyed, work)), records };
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return answerOf(request, error.ran);
  }
}

const tooLong = (length: number) =>
  limitError(
    'LENGTH_LIMIT_EXCEEDED',
    'characters in the response to a request with an Idempotency-Key',
    length,
    longestKept,
  );

/** A field that fails is null. */
const hasFailed = ({ data }: Outcome) => data === null || Object.values(data as object).includes(null);

/** Thrown, because the transaction of a mutation that failed must end without a change, and may be tried again. */
class Failed extends Error {
  readonly ran: Ran;

  constructor(ran: Ran) {
    super('', { cause: ran.errors?.[0]?.originalError });
    this.ran = ran;
  }
}
