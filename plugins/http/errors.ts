import { randomUUID } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { serviceName } from '#schemas/name.ts';
import type { ErrorEnvelope } from '#schemas/parts/error.ts';
import { AppError, refusal, statusByCode } from '#src/core/errors.ts';
import { explain, reasonForLog } from '#src/database/databaseErrors.ts';
import { setHeaders } from './headers.ts';
import { lastExchangeOf, logResponse } from './logging.ts';
import { entityTag } from './requests/conditions.ts';

const toEnvelope = (error: AppError): ErrorEnvelope => ({
  error: { message: error.message, status: statusByCode[error.code], details: error.details },
});

/** Sends an error of REST. All have the same form, wherever they were thrown. */
export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  const error = translate(thrown);
  logFailure(request, error);
  // The serializer of the route is for its successes.
  reply
    .headers(errorHeadersOf(error))
    .code(statusByCode[error.code])
    .type('application/json')
    .serializer((value: unknown) => `${JSON.stringify(value)}\n`);
  const discarded = discardBody(request, reply);
  const send = () => reply.send(toEnvelope(error));
  return discarded ? discarded.then(send) : send();
}

/** Logs what went wrong in the service. Refusals during an outage get no stack: there may be thousands of them. */
export function logFailure(request: FastifyRequest, error: AppError, context: object = {}): void {
  const { code } = error.details as { code?: string };
  if (statusByCode[error.code] < 500 || code === 'overloaded' || code === 'ending') return;
  const { cause = error } = error;
  if (error.code !== 'unavailable') request.log.error({ err: cause, ...context }, error.message);
  else if (cause === error) request.log.warn(context, error.message);
  else request.log.error({ ...reasonForLog(cause), ...context }, error.message);
}

const isSending = ({ readableEnded, headers }: IncomingMessage) =>
  !readableEnded && (Number(headers['content-length']) > 65_536 || 'transfer-encoding' in headers);

/** The most chunks of up to 64 KB that are discarded: more, or tiny ones, would keep the process busy for nothing. */
const mostDiscarded = 1000;

/**
 * Reads and discards what a client is still sending, for at most two seconds, so that it gets the response and not a
 * reset. Returns undefined when there is nothing to wait for.
 */
export function discardBody({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
  // Fastify would close a connection that can be reused. An ending process sets the header on the raw response.
  if (reply.hasHeader('connection') && !reply.raw.hasHeader('connection')) reply.removeHeader('connection');
  if (!isSending(raw)) return undefined;
  let chunks = 0;
  raw.on('data', () => {
    if (++chunks > mostDiscarded) raw.destroy();
  });
  return finished(raw.resume(), { signal: AbortSignal.timeout(2000) }).catch(() => {});
}

/** Answers a path that cannot be decoded: it reaches neither a route nor its hooks. */
export function answerBadPath(thrown: Error, request: FastifyRequest, reply: FastifyReply) {
  setHeaders(request, reply);
  sendError(thrown, request, reply);
  logResponse(request, reply);
}

export function errorHeadersOf({ code, details }: AppError): Record<string, string> {
  const { reason, scope, retryAfter, version, operation } = details as Record<string, unknown>;
  switch (code) {
    case 'unauthenticated':
      return { 'www-authenticate': `Bearer realm="${serviceName}"${reason ? `, error="${reason}"` : ''}` };
    case 'forbidden':
      // The header is for credentials that lack a scope (RFC 6750), and not for other refusals.
      if (scope === undefined) return {};
      return {
        'www-authenticate': `Bearer realm="${serviceName}", error="insufficient_scope", scope="${scope}"`,
      };
    case 'version_mismatch':
      // Sends no tag for a batch: it would seem to be that of the batch.
      return version === undefined || operation !== undefined ? {} : { etag: entityTag(Number(version)) };
    case 'rate_limited':
    case 'idempotency_in_progress':
      return { 'retry-after': String(retryAfter) };
    case 'unavailable':
      return { 'retry-after': '1' };
    default:
      return {};
  }
}

/** An error whose summary is its message. */
const plain = (code: 'timeout' | 'too_large' | 'headers_too_large', message: string) =>
  refusal(message, () => new AppError(code, message));

export const arrivedTooLate = plain('timeout', 'The request did not arrive in time.');
export const tooLarge = plain('too_large', 'The body is too large.');
export const headersTooLarge = plain('headers_too_large', 'The headers are too large.');
export const unsupportedMediaType = refusal(
  'The body is not JSON.',
  (message: string = 'The media type of the body is not supported. Send application/json.') =>
    new AppError('unsupported_media_type', message),
);
export const badRequest = (message: string) => new AppError('bad_request', message);

/** The errors of Fastify, see fastify.dev/docs/latest/Reference/Errors. */
const fromFastify: Record<string, () => AppError> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => unsupportedMediaType(),
  FST_ERR_CTP_BODY_TOO_LARGE: tooLarge,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => badRequest('The length of the body differs from Content-Length.'),
  FST_ERR_BAD_URL: () => badRequest('The path is not valid percent-encoded UTF-8.'),
};

const fromNode: Record<string, () => AppError> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: arrivedTooLate,
};

export function translate(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const { code = '', statusCode = 500, message } = thrown as FastifyError;
  const known = fromFastify[code];
  if (known) return known();
  // The message of an error that is not the client's fault stays internal.
  if (code.startsWith('FST_') && statusCode === 400) return badRequest(message);
  // The client left while it was sending. Its ECONNRESET must not be taken for one of the database.
  if (statusCode === 400) return badRequest('The body did not arrive completely.');
  return explain(thrown);
}

/**
 * Answers what never became a request, or never became a complete one. There is no reply object, so the response is
 * written by hand.
 */
export function answerBrokenHttp(this: FastifyInstance, error: Error & { code?: string }, socket: Socket) {
  const last = lastExchangeOf(socket);
  // An answer behind a stream on the same connection would wait for ever.
  const isStream = (reply?: FastifyReply) => reply?.raw.getHeader('content-type') === 'text/event-stream';
  if (isStream(last?.reply) || isStream(last?.earlier)) return void socket.destroy();
  const unfinished = last && !last.request.raw.complete ? last : undefined;
  const pending = unfinished ? unfinished.earlier : last?.reply;
  // If this response were sent now, the client would take it for that of an earlier request, which was perhaps
  // carried out.
  if (pending && !pending.raw.writableFinished && socket.writable) {
    socket.pause();
    return void pending.raw.once('close', () => answerBrokenHttp.call(this, error, socket));
  }
  // A second response would be taken for that of the next request.
  const isAnswered = unfinished?.reply.sent;
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswered) return void socket.destroy();
  const answer = fromNode[error.code ?? '']?.() ?? badRequest('The request is not valid HTTP.');
  const status = statusByCode[answer.code];
  const body = `${JSON.stringify(toEnvelope(answer))}\n`;
  const id = unfinished?.request.id ?? randomUUID();
  if (unfinished) unfinished.request.statusOnClose = status;
  this.log.info({ reqId: id, status, reason: error.code, address: socket.remoteAddress }, 'broken HTTP');
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\nx-request-id: ${id}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    // A peer that never reads would keep the socket open for ever.
    () => socket.destroy(),
  );
}
