import type { FastifyReply } from 'fastify';
import type { Context } from '../../../src/core/context.ts';
import { type KeyedRequest, withIdempotencyKey } from '../../../src/services/idempotency.ts';
import type { Operation } from '../documents/reader.ts';
import { limitError, refuse } from '../errors.ts';
import { bodyOf, type Outcome } from './http.ts';

/** What ran: its result, or the body of an earlier one, and how many records it took to make. */
type Ran = Outcome & { records: number; body?: string };

/** Characters. A response that is kept must not fill the disk. */
const longestKept = 256 * 1024;

/** Runs a mutation with an `Idempotency-Key`, unless it ran before. */
export async function runOnce(
  reply: FastifyReply,
  keyed: KeyedRequest,
  operation: Operation,
  run: (context: Context) => Promise<Ran>,
): Promise<Ran> {
  if (operation.roots !== 1)
    throw refuse('BAD_USER_INPUT', 'An operation with an Idempotency-Key must have exactly one mutation.');
  const { request } = reply;
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
    const { body, replayed } = await withIdempotencyKey(request.context, keyed, work);
    if (replayed) reply.header('idempotency-replayed', 'true');
    return { body, records };
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return error.ran;
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
