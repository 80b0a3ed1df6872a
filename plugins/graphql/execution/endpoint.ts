import type { FastifyReply, FastifyRequest } from 'fastify';
import { OperationTypeNode } from 'graphql';
import type { GraphQLRequest } from '../../../schemas/graphql.ts';
import type { Settings } from '../../../schemas/settings.ts';
import type { Context } from '../../../src/access/context.ts';
import { AppError } from '../../../src/core/errors.ts';
import type { Feed } from '../../../src/services/changes/feed.ts';
import type { Follower } from '../../../src/services/changes/follow.ts';
import { withIdempotencyKey } from '../../../src/services/idempotency.ts';
import type { Metrics } from '../../../src/telemetry/metrics.ts';
import { readKey } from '../../http/requests/idempotency.ts';
import { makeReader, type Operation } from '../documents/reader.ts';
import type { TrustedDocuments } from '../documents/trusted.ts';
import { limitError, refuse } from '../errors.ts';
import { checkQueryLimits, maximumsOf, priceOf } from '../limits/queryLimits.ts';
import type { SchemaPart } from '../schema.ts';
import { openExecutor } from './executor.ts';
import { bodyOf, fromQuery, type Outcome, sendFailure, sendResult, sendResults } from './http.ts';

export interface Options {
  settings: Settings;
  metrics: Metrics;
  parts: SchemaPart[];
  feed: Feed;
}

export type Endpoint = Awaited<ReturnType<typeof openEndpoint>>;

/**
 * What answers requests: it reads the document, checks the limits, runs it and charges for it. Everything that needs
 * the graphql library is imported from here, when the first request comes.
 */
export async function openEndpoint({ settings, metrics, parts, feed }: Options, trusted?: TrustedDocuments) {
  const { schema, run, subscribe } = await openExecutor(settings, parts, feed);
  const maximums = maximumsOf(settings);
  const read = makeReader(maximums.tokens, metrics, trusted);

  type Admitted = Awaited<ReturnType<typeof admit>>;
  /** Reads the operation, and charges for what it is estimated to cost beyond the request itself. */
  async function admit(request: FastifyRequest, body: GraphQLRequest, reply?: FastifyReply) {
    const operation = read(body);
    const { operation: kind } = operation.definition;
    if (request.method !== 'POST' && kind === OperationTypeNode.MUTATION) {
      reply?.header('allow', 'POST');
      throw new AppError('method_not_allowed', 'A mutation must be sent by POST.');
    }
    const variables = body.variables ?? {};
    checkVariables(variables);
    const price = checkQueryLimits({ schema, operation, variables, maximums });
    if (price > 1) await request.charge(reply, price - 1);
    return { operation, kind, variables, price };
  }

  /** The results of an operation as they come; nothing at times, when a subscription has none. */
  async function* resultsOf(
    request: FastifyRequest,
    admitted: Admitted,
    follower: Follower,
  ): AsyncGenerator<Outcome | undefined> {
    const { operation, variables, kind, price } = admitted;
    if (kind !== OperationTypeNode.SUBSCRIPTION) {
      yield await resultOf(request, admitted);
      return;
    }
    // A replica may be behind the change.
    request.replica = undefined;
    const results = subscribe(operation, variables, follower, () => request.readingContext);
    for await (const result of results) {
      // A result counts as nothing, unless its lists are longer than estimated. Then it is the last beyond the limit.
      const more = result ? priceOf(result.records) - price : 0;
      if (more > 0) await request.charge(undefined, more, { refuse: false });
      yield result;
      if (more > 0) await request.charge(undefined, 0);
    }
  }

  /** The result of a query or a mutation. */
  async function resultOf(request: FastifyRequest, admitted: Admitted, reply?: FastifyReply): Promise<Ran> {
    const { operation, variables, kind, price } = admitted;
    const isQuery = kind === OperationTypeNode.QUERY;
    const runIn = (context: Context) => run(context, operation, variables);
    const ran =
      isQuery || !reply ? await runIn(request.readingContext) : await runOnce(reply, operation, runIn);
    const more = priceOf(ran.records) - price;
    // A list was longer than estimated: the caller is charged for it and still gets the result.
    if (more > 0) await request.charge(reply, more, { refuse: false });
    return ran;
  }

  async function answer(request: FastifyRequest, reply: FastifyReply, body: GraphQLRequest) {
    // Fails while there is no database.
    void request.readingContext;
    const admitted = await admit(request, body, reply);
    return admitted.kind === OperationTypeNode.SUBSCRIPTION
      ? sendResults(reply, follower => resultsOf(request, admitted, follower))
      : sendResult(reply, await resultOf(request, admitted, reply));
  }
  return { schema, admit, resultsOf, answer, fromQuery, sendFailure };
}

/** What ran: its result, or the body of an earlier one, and how many records it took to make. */
type Ran = Outcome & { records: number; body?: string };

/** Characters. A response that is kept must not fill the disk. */
const longestKept = 256 * 1024;
const whatIsKept = 'characters in the response to a request with an Idempotency-Key';

/** Thrown, because the transaction of a mutation that failed must end without a change, and may be tried again. */
class Failed extends Error {}

/** Runs a mutation; with an `Idempotency-Key` unless it ran before. */
async function runOnce(
  reply: FastifyReply,
  operation: Operation,
  run: (context: Context) => Promise<Ran>,
): Promise<Ran> {
  const { request } = reply;
  const keyed = readKey(request);
  if (!keyed) return run(request.context);
  if (operation.roots !== 1)
    throw refuse('BAD_USER_INPUT', 'An operation with an Idempotency-Key must have exactly one mutation.');
  let ran: Ran = { records: 0 };
  const work = async (inside: Context) => {
    ran = await run(inside);
    if (hasFailed(ran)) throw new Failed('', { cause: ran.errors?.[0]?.originalError });
    const body = bodyOf(ran, request);
    if (body.length <= longestKept) return { status: 200, location: null, body };
    const errors = [limitError('LENGTH_LIMIT_EXCEEDED', whatIsKept, body.length, longestKept)];
    ran = { data: null, errors, records: ran.records };
    throw new Failed();
  };
  try {
    const { body, replayed } = await withIdempotencyKey(request.context, keyed, work);
    if (replayed) reply.header('idempotency-replayed', 'true');
    return { body, records: ran.records };
  } catch (error) {
    if (error instanceof Failed) return ran;
    throw error;
  }
}

/** A field that fails is null. */
const hasFailed = ({ data }: Outcome) => data === null || Object.values(data as object).includes(null);

const maxValues = 1000;

/**
 * Refuses more values than an operation can use. The graphql library repeats a value in each error about it, so one
 * request with thousands of unknown members kept the process busy for a second and was answered with 4 MB.
 */
function checkVariables(variables: object): void {
  const values: unknown[] = Object.values(variables);
  // The list grows while it is read.
  for (const value of values) {
    if (value !== null && typeof value === 'object')
      for (const inner of Object.values(value)) if (values.push(inner) > maxValues) throw tooMany();
  }
  if (values.length > maxValues) throw tooMany();
}

const tooMany = () => refuse('BAD_USER_INPUT', `The variables have more than ${maxValues} values.`);
