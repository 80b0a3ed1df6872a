import type { FastifyReply, FastifyRequest } from 'fastify';
import { GraphQLError } from 'graphql';
import { DocumentError, publicErrors, refuse } from '#plugins/graphql/errors.ts';
import { errorHeadersOf, translate } from '#plugins/http/errors.ts';
import { vary } from '#plugins/http/headers.ts';
import { retryIn, type Stream, sendEvents } from '#plugins/http/streams.ts';
import { type GraphQLRequest, mediaTypes } from '#schemas/service/graphql.ts';
import { invalid, statusByCode } from '#src/core/errors.ts';
import { explain } from '#src/database/databaseErrors.ts';

const [plain, modern] = mediaTypes;

/** The media type that the client prefers; without a preference, the one that every client can read. */
export function mediaTypeFor(accept = ''): (typeof mediaTypes)[number] {
  const quality = (type: string) => {
    const range = accept.split(',').find(entry => entry.split(';')[0]?.trim().toLowerCase() === type);
    return range === undefined ? 0 : Number(/;\s*q=([\d.]+)/i.exec(range)?.[1] ?? 1);
  };
  return quality(modern) > 0 && quality(modern) >= quality(plain) ? modern : plain;
}

export const fromQuery = (query: Partial<Record<keyof GraphQLRequest, string>>): GraphQLRequest => ({
  ...query,
  variables: objectIn('variables', query.variables),
  extensions: objectIn('extensions', query.extensions),
});

function objectIn(name: string, json: string | undefined): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json || 'null');
    if (value === null || (typeof value === 'object' && !Array.isArray(value)))
      return value as Record<string, unknown> | null;
  } catch {
    // Text that is not JSON gets the same error.
  }
  throw invalid([{ in: 'query', path: `/${name}`, message: 'must be a JSON object' }]);
}

export interface Outcome {
  data?: unknown;
  errors?: readonly GraphQLError[] | undefined;
}

/** The result as the caller sees it, without the causes of internal errors. */
export const shownTo = (request: FastifyRequest, { data, errors = [] }: Outcome) => ({
  ...(data !== undefined && { data }),
  ...(errors.length > 0 && { errors: publicErrors(errors, request) }),
});

export const outcomeBody = (outcome: Outcome, request: FastifyRequest): string =>
  `${JSON.stringify(shownTo(request, outcome))}\n`;

const eventStream = 'text/event-stream';
/** A result as a server-sent event, in the distinct connections mode of graphql-sse. A body ends with a newline. */
const nextEvent = (body: string) => `event: next\ndata: ${body}\n`;
const lastEvent = 'event: complete\ndata:\n\n';

function sendBody(reply: FastifyReply, body: string, status = 200): FastifyReply {
  const { accept = '' } = reply.request.headers;
  vary(reply, 'accept').code(status);
  const takesEventsOnly = accept.includes(eventStream) && !/json|\*/.test(accept);
  return takesEventsOnly && status === 200
    ? reply.type(eventStream).send(nextEvent(body) + lastEvent)
    : reply.type(`${mediaTypeFor(accept)}; charset=utf-8`).send(body);
}

export type Sent = Pick<Outcome, 'errors'> & { sent: string };

/** Sends a result, or the body of an earlier one. `Retry-After` is that of the first error that has one. */
export function sendResult(reply: FastifyReply, { errors = [], sent }: Sent) {
  const headers = errors.map(({ originalError }) => originalError && errorHeadersOf(explain(originalError)));
  const seconds = headers.find(each => each?.['retry-after'])?.['retry-after'];
  if (seconds !== undefined) reply.header('retry-after', seconds);
  return sendBody(reply, sent);
}

/** Sends any failure in the shape of GraphQL, including those of the framework and of the rate limits. */
export function sendFailure(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // Clients of the older media type expect 200 for every well-formed request, and read the errors.
  const usual = mediaTypeFor(request.headers.accept) === modern ? 400 : 200;
  if (thrown instanceof DocumentError) return sendBody(reply, outcomeBody(thrown, request), usual);
  const error = translate(thrown);
  reply.headers(errorHeadersOf(error));
  return sendBody(reply, outcomeBody({ errors: refusalsIn(error) }, request), statusByCode[error.code]);
}

/** The errors of an operation that is refused. */
export const refusalsIn = (error: unknown): readonly GraphQLError[] =>
  error instanceof DocumentError ? error.errors : [new GraphQLError('', { originalError: error as Error })];

/**
 * Sends the results of a subscription as server-sent events. A stream that is aborted or reaches the rate limit ends
 * without `complete`: the client comes back, and is then told if it may not.
 */
export function sendResults(
  reply: FastifyReply,
  open: (stream: Stream) => AsyncGenerator<(() => string) | undefined>,
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
      for await (const take of open(stream)) yield take ? () => nextEvent(take()) : ':\n\n';
    } catch (error) {
      const { details } = explain(error);
      if ('retryAfter' in details) {
        yield `${retryIn(Number(details.retryAfter) * 1000)}\n`;
        return;
      }
      // Clients try again after these: they are thrown, so that the stream has no `complete`.
      if (!(error instanceof DocumentError) && statusByCode[explain(error).code] >= 429) throw error;
      yield nextEvent(outcomeBody({ errors: refusalsIn(error) }, request));
    }
    yield stream.signal.aborted ? `${retryIn(1000, 5000)}\n` : lastEvent;
  }
  return sendEvents(reply, stream, events());
}
