import type { FastifyReply, FastifyRequest } from 'fastify';
import { OperationTypeNode } from 'graphql';
import { makeReader } from '#plugins/graphql/documents/reader.ts';
import type { TrustedDocuments } from '#plugins/graphql/documents/trusted.ts';
import { refuse } from '#plugins/graphql/errors.ts';
import { checkQueryLimits, maximumsOf } from '#plugins/graphql/limits/queryLimits.ts';
import type { SchemaPart } from '#plugins/graphql/schema.ts';
import { charge } from '#plugins/http/admission/limits.ts';
import { payerOf, requireDatabase, writeContext } from '#plugins/http/context.ts';
import { readKey } from '#plugins/http/requests/idempotency.ts';
import { longestWait, takeOnce } from '#plugins/http/streams.ts';
import type { GraphQLRequest } from '#schemas/service/graphql.ts';
import type { Settings } from '#schemas/settings.ts';
import type { Context } from '#src/access/context.ts';
import { Budget, type Payer } from '#src/access/limits/budget.ts';
import type { Feed } from '#src/changes/feed.ts';
import type { Follower } from '#src/changes/follow.ts';
import { handlerTimeout } from '#src/config/timeouts.ts';
import { AppError } from '#src/core/errors.ts';
import { Shares } from '#src/core/shares.ts';
import { type KeyedRequest, withIdempotencyKey } from '#src/records/idempotency.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import { openExecutor } from './executor.ts';
import {
  fromQuery,
  type Outcome,
  outcomeBody,
  type Sent,
  sendFailure,
  sendResult,
  sendResults,
} from './http.ts';
import { openPlaces } from './places.ts';

export interface Options {
  settings: Settings;
  metrics: Metrics;
  parts: SchemaPart[];
  feed: Feed;
}

export type Endpoint = Awaited<ReturnType<typeof openEndpoint>>;

/**
 * Opens what answers requests: it reads the document, checks the limits, runs it and charges for it. This file is
 * imported at the first request, because it loads the graphql library.
 */
export async function openEndpoint({ settings, metrics, parts, feed }: Options, trusted?: TrustedDocuments) {
  const { schema, run, subscribe } = await openExecutor(settings, parts, feed);
  const maximums = maximumsOf(settings);
  const read = makeReader(maximums.tokens, metrics, trusted);
  const { inPlace, laterIn } = openPlaces();
  const turns = new Shares(1);

  type Admitted = Awaited<ReturnType<typeof admit>>;
  /** Reads the operation, and charges for what it is estimated to cost beyond the request itself. */
  async function admit(request: FastifyRequest, body: GraphQLRequest, reply?: FastifyReply) {
    const operation = read(body);
    const { operation: kind } = operation.definition;
    if (!reply && kind !== OperationTypeNode.SUBSCRIPTION)
      throw refuse('BAD_USER_INPUT', 'A WebSocket takes subscriptions only. Send this operation by HTTP.');
    if (request.method !== 'POST' && kind === OperationTypeNode.MUTATION) {
      reply?.header('allow', 'POST');
      throw new AppError('method_not_allowed', 'A mutation must be sent by POST.');
    }
    const variables = body.variables ?? {};
    checkVariables(variables);
    const estimate = checkQueryLimits({ schema, operation, variables, maximums });
    // A subscription is charged for each of its results instead.
    if (kind !== OperationTypeNode.SUBSCRIPTION && estimate.price > 1)
      await charge(request, estimate.price - 1);
    return { operation, kind, variables, estimate };
  }

  /** Yields each result of a subscription in a function that hands it over, `undefined` while there is none. */
  async function* subscriptionResults<T>(
    request: FastifyRequest,
    { operation, variables, estimate }: Admitted,
    follower: Follower,
    toSent: (outcome: Outcome) => T,
  ): AsyncGenerator<(() => T) | undefined> {
    const { price } = estimate;
    let charged = 0;
    for await (const make of subscribe(operation, variables, follower)) {
      if (!make) {
        yield undefined;
        continue;
      }
      yield await turns.inTurn(request.caller.account.name, performance.now() + longestWait, async () => {
        if (price > 1) await charge(request, 0);
        const deadline = performance.now() + handlerTimeout(settings);
        const payer: Payer = {
          ...payerOf(request, deadline),
          hasLeft: () => follower.signal.aborted,
          // A result that reaches the rate limit is completed, and is the last.
          charge: points => {
            charged += points;
            return charge(request, points, { refuse: false });
          },
        };
        if (price > 1) await payer.charge(price - 1);
        const budget = new Budget(payer, price);
        return inPlace(request, estimate, budget, async context => {
          const result = await make({ context: { ...context, deadline, budget }, estimate, toSent });
          return takeOnce(result.sent);
        });
      });
      if (charged > 0) await charge(request, 0);
    }
  }

  /**
   * Sends the result of a query or a mutation. A mutation without an `Idempotency-Key` writes before it takes a place.
   * A query sends its result in its place: promises that waited for it would keep the text until the whole heap is
   * collected.
   */
  async function execute(request: FastifyRequest, admitted: Admitted, reply: FastifyReply) {
    const { operation, variables, kind, estimate } = admitted;
    const budget = new Budget(payerOf(request), estimate.price);
    const toSent = (outcome: Outcome) => outcomeBody(outcome, request);
    const runIn = (context: Context, below?: () => Promise<Context>) =>
      run(operation, variables, { context: { ...context, budget }, estimate, below, toSent });
    if (kind === OperationTypeNode.QUERY) {
      // Does not return the reply, which is a promise: a client that reads slowly would hold the place.
      await inPlace(request, estimate, budget, async context => {
        sendResult(reply, await runIn(context));
      });
      return reply;
    }
    const context = writeContext(request);
    const keyed = readKey(request);
    if (keyed && estimate.roots !== 1)
      throw refuse('BAD_USER_INPUT', 'An operation with an Idempotency-Key must have exactly one mutation.');
    // The place comes first: a transaction that waits for one would hold a connection that others write on.
    if (keyed)
      return sendResult(
        reply,
        await inPlace(request, estimate, budget, () => runOnce(reply, context, keyed, runIn)),
      );
    const { below, end } = laterIn(request, estimate, budget);
    return sendResult(reply, await runIn(context, below).finally(end));
  }

  async function answer(request: FastifyRequest, reply: FastifyReply, body: GraphQLRequest) {
    requireDatabase(request);
    const admitted = await admit(request, body, reply);
    const toSent = (outcome: Outcome) => outcomeBody(outcome, request);
    return admitted.kind === OperationTypeNode.SUBSCRIPTION
      ? sendResults(reply, follower => subscriptionResults(request, admitted, follower, toSent))
      : execute(request, admitted, reply);
  }
  return { schema, admit, subscriptionResults, answer, fromQuery, sendFailure };
}

/** The body of the answer, which may be that of an earlier request, with its errors. */
type Ran = Sent & { hasNull?: boolean };

/** The most bytes of a kept answer: longer ones could fill the disk. */
const longestKept = 16 * 1024;

/** Thrown when a mutation fails, so that its transaction changes nothing and its key can be used again. */
class Failed extends Error {}

/** Runs a mutation unless it ran before. */
async function runOnce(
  reply: FastifyReply,
  context: Context,
  keyed: KeyedRequest,
  run: (context: Context) => Promise<Ran>,
): Promise<Ran> {
  let ran: Ran | undefined;
  const work = async (inside: Context) => {
    ran = await run(inside);
    // A mutation has failed if its field is null.
    if (ran.hasNull) throw new Failed('', { cause: ran.errors?.[0]?.originalError });
    return { status: 200, location: null, body: Buffer.byteLength(ran.sent) > longestKept ? '' : ran.sent };
  };
  try {
    const { body, replayed } = await withIdempotencyKey(context, keyed, work);
    if (!replayed && ran) return ran;
    if (body === '') throw tooLong();
    reply.header('idempotency-replayed', 'true');
    return { sent: body };
  } catch (error) {
    if (error instanceof Failed && ran) return ran;
    throw error;
  }
}

const tooLong = () =>
  refuse(
    'IDEMPOTENCY_ANSWER_TOO_LONG',
    'The mutation of this Idempotency-Key took effect. Its answer was too long to be kept: read the records instead.',
  );

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
