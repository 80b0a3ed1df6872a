import type { FastifyReply, FastifyRequest } from 'fastify';
import { OperationTypeNode } from 'graphql';
import type { GraphQLRequest } from '../../../schemas/graphql.ts';
import type { Settings } from '../../../schemas/settings.ts';
import type { Context } from '../../../src/core/context.ts';
import { AppError } from '../../../src/core/errors.ts';
import type { Metrics } from '../../../src/telemetry/metrics.ts';
import { automaticDocuments, trustedDocuments } from '../documents/persisted.ts';
import { makeReader } from '../documents/reader.ts';
import type { TrustedDocuments } from '../documents/trusted.ts';
import { maximumsOf } from '../limits/maximums.ts';
import { checkQueryLimits, priceOf } from '../limits/queryLimits.ts';
import { checkVariables } from '../limits/variables.ts';
import type { SchemaPart } from '../schema.ts';
import { openExecutor } from './executor.ts';
import { fromQuery, sendBody, sendFailure } from './http.ts';
import { answerOf, answerOnce } from './idempotency.ts';

export interface Options {
  settings: Settings;
  metrics: Metrics;
  parts: SchemaPart[];
}

/**
 * What answers requests: it reads the document, checks the limits, runs it and charges for it. Everything that needs
 * the graphql library is imported from here, when the first request comes.
 */
export async function openEndpoint({ settings, metrics, parts }: Options, trusted?: TrustedDocuments) {
  const { schema, run } = await openExecutor(settings, parts);
  const maximums = maximumsOf(settings);
  const read = makeReader(maximums.tokens, metrics);
  const documents = trusted === undefined ? automaticDocuments(metrics) : trustedDocuments(trusted);

  async function answer(request: FastifyRequest, reply: FastifyReply, body: GraphQLRequest) {
    const { readingContext } = request;
    const text = documents.find(body);
    const operation = read(text, body.operationName || undefined);
    const isQuery = operation.definition.operation === OperationTypeNode.QUERY;
    if (request.method !== 'POST' && !isQuery) {
      reply.header('allow', 'POST');
      throw new AppError('method_not_allowed', 'A mutation must be sent by POST.');
    }
    const variables = body.variables ?? {};
    checkVariables(variables);
    const price = checkQueryLimits({ schema, operation, variables, maximums });
    if (price > 1) await request.charge(reply, price - 1);
    documents.keep(body, text);
    const runIn = (context: Context) => run(context, operation, variables);
    const keyed = isQuery ? undefined : request.keyed;
    const answer = keyed
      ? await answerOnce(request, keyed, operation, runIn)
      : answerOf(request, await runIn(isQuery ? readingContext : request.context));
    // A list was longer than estimated: the caller is charged for it and still gets the result.
    const more = priceOf(answer.records) - price;
    if (more > 0) await request.charge(reply, more, { refuse: false });
    if (answer.replayed) reply.header('idempotency-replayed', 'true');
    if (answer.retryAfter !== undefined) reply.header('retry-after', answer.retryAfter);
    return sendBody(reply, answer.body);
  }
  return { answer, fromQuery, sendFailure };
}
