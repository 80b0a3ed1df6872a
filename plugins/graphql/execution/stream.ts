import type { FastifyReply } from 'fastify';
import { GraphQLError } from 'graphql';
import { statusOf } from '../../../src/core/errors.ts';
import { explain } from '../../../src/services/refusals.ts';
import { retryIn, type Stream, sendEvents } from '../../http/streams.ts';
import { DocumentError, refuse } from '../errors.ts';
import { bodyOf, eventStream, lastEvent, nextEvent, type Outcome } from './http.ts';

/** The errors of an operation that is refused. */
export const refusalsIn = (error: unknown): readonly GraphQLError[] =>
  error instanceof DocumentError ? error.errors : [new GraphQLError('', { originalError: error as Error })];

/**
 * The results of a subscription as server-sent events. What is aborted ends without `complete`: the client comes back,
 * and learns why if it may not.
 */
export function sendResults(
  reply: FastifyReply,
  open: (stream: Stream) => AsyncGenerator<Outcome | undefined>,
): Promise<FastifyReply> {
  const { request } = reply;
  if (!request.headers.accept?.includes(eventStream))
    throw refuse(
      'GRAPHQL_VALIDATION_FAILED',
      `Send a subscription with \`Accept: ${eventStream}\`, or by WebSocket.`,
    );
  const stream = request.openStream();
  async function* events() {
    try {
      for await (const result of open(stream)) yield result ? nextEvent(bodyOf(result, request)) : ':\n\n';
    } catch (error) {
      // Clients try these again.
      if (!(error instanceof DocumentError) && statusOf[explain(error).code] >= 429) throw error;
      yield nextEvent(bodyOf({ errors: refusalsIn(error) }, request));
    }
    yield stream.signal.aborted ? `${retryIn(1000, 5000)}\n` : lastEvent;
  }
  return sendEvents(reply, stream, events());
}
