import type { FastifyReply, FastifyRequest } from 'fastify';
import { OperationTypeNode } from 'graphql';
import type { GraphQLRequest } from '../../../schemas/graphql.ts';
import type { Settings } from '../../../schemas/settings.ts';
import type { Context } from '../../../src/core/context.ts';
import { AppError } from '../../../src/core/errors.ts';
import type { Feed } from '../../../src/services/changes/feed.ts';
import type { Follower } from '../../../src/services/changes/follow.ts';
import type { Metrics } from '../../../src/telemetry/metrics.ts';
import { readKey } from '../../http/requests/idempotency.ts';
import { openChanges } from '../changes.ts';
import { makeReader } from '../documents/reader.ts';
import type { TrustedDocuments } from '../documents/trusted.ts';
import type { Arguments } from '../fields/inputs.ts';
import { checkQueryLimits, maximumsOf, priceOf } from '../limits/queryLimits.ts';
import { checkVariables } from '../limits/variables.ts';
import type { SchemaPart } from '../schema.ts';
import { openExecutor } from './executor.ts';
import { fromQuery, type Outcome, sendFailure, sendResult, sendResults } from './http.ts';
import { runOnce } from './idempotency.ts';

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
  const { schema, run, subscribe } = await openExecutor(settings, parts);
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
    { operation, variables, kind, price }: Admitted,
    follower: Follower,
  ): AsyncGenerator<Outcome | undefined> {
    if (kind === OperationTypeNode.SUBSCRIPTION) {
      // A replica may be behind the change.
      request.replica = undefined;
      const open = (field: string, args: Arguments) => openChanges(feed, field, args, follower);
      yield* subscribe(operation, variables, { open, context: () => request.readingContext });
    } else {
      const ran = await run(request.readingContext, operation, variables);
      await chargeMore(request, ran.records, price);
      yield ran;
    }
  }

  /** A list was longer than estimated: the caller is charged for it and still gets the result. */
  async function chargeMore(request: FastifyRequest, records: number, price: number, reply?: FastifyReply) {
    const more = priceOf(records) - price;
    if (more > 0) await request.charge(reply, more, { refuse: false });
  }

  async function answer(request: FastifyRequest, reply: FastifyReply, body: GraphQLRequest) {
    const { readingContext } = request;
    const admitted = await admit(request, body, reply);
    const { operation, kind, variables, price } = admitted;
    if (kind === OperationTypeNode.SUBSCRIPTION)
      return sendResults(reply, follower => resultsOf(request, admitted, follower));
    const isQuery = kind === OperationTypeNode.QUERY;
    const runIn = (context: Context) => run(context, operation, variables);
    const keyed = isQuery ? undefined : readKey(request);
    const ran = keyed
      ? await runOnce(reply, keyed, operation, runIn)
      : await runIn(isQuery ? readingContext : request.context);
    await chargeMore(request, ran.records, price, reply);
    return sendResult(reply, ran);
  }
  return { schema, admit, resultsOf, answer, fromQuery, sendFailure };
}
