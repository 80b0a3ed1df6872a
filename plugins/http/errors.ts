import { randomUUID } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { ErrorEnvelope } from '../../schemas/error.ts';
import { AppError, type ErrorCode, statusOf } from '../../src/core/errors.ts';
import { explain } from '../../src/services/refusals.ts';
import { logAnswer, setHeaders } from './headers.ts';

/** The one error body of the REST door, for whatever went wrong and wherever it did. */
export default fp(async (app: FastifyInstance) => {
  app.setErrorHandler(sendError);
  app.setNotFoundHandler(() => {
    throw nothingThere();
  });
  // A miss is a miss whatever its body holds: so it is told before the body is read. It was counted before.
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 ? nothingThere() : undefined);
  });
});

const nothingThere = () => new AppError('not_found', 'There is nothing at this path.');

export const envelope = (error: AppError): ErrorEnvelope => ({
  error: { message: error.message, status: statusOf[error.code], details: error.details },
});

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  const error = translate(thrown);
  const status = statusOf[error.code];
  logFailure(request, error);
  reply.headers(headersOf(error));
  // The framework would close the connection; it is good, and the rest of the body is read and forgotten.
  reply.removeHeader('connection');
  // The schema of a route describes its success; the envelope is the same everywhere.
  reply.code(status).type('application/json').serializer(JSON.stringify);
  return isSending(request.raw)
    ? silence(request.raw).then(() => reply.send(envelope(error)))
    : reply.send(envelope(error));
}

/**
 * What went wrong here, whole. A refusal of ours has no cause and needs no stack: a caller may get thousands of them, as
 * while somebody holds a record or the database is away.
 */
export function logFailure(request: FastifyRequest, error: AppError, facts: object = {}): void {
  const { code } = error.details as { code?: string };
  if (statusOf[error.code] < 500 || code === 'overloaded' || code === 'ending') return;
  if (error.code === 'unavailable' && error.cause === undefined) request.log.warn(facts, error.message);
  else request.log.error({ err: error.cause ?? error, ...facts }, error.message);
}

const isSending = ({ readableEnded, headers }: IncomingMessage) =>
  !readableEnded && (Number(headers['content-length']) > 65_536 || 'transfer-encoding' in headers);

/** When a client has sent all it had, or two seconds later. Sooner, a connection that closes is reset under it. */
const silence = (stream: IncomingMessage) =>
  finished(stream.resume(), { signal: AbortSignal.timeout(2000) }).catch(() => {});

/** A path that cannot be decoded never gets to a route or its hooks; the answer looks the same all the same. */
export function answerBadPath(thrown: Error, request: FastifyRequest, reply: FastifyReply) {
  setHeaders(request, reply);
  sendError(thrown, request, reply);
  logAnswer(request, reply);
}

/** What an error says in headers besides its body. */
export function headersOf({ code, details }: AppError): Record<string, string> {
  const { reason, scope, retryAfter } = details as Record<string, unknown>;
  switch (code) {
    case 'unauthenticated':
      return { 'www-authenticate': `Bearer realm="triport"${reason ? `, error="${reason}"` : ''}` };
    case 'forbidden':
      return {
        'www-authenticate': `Bearer realm="triport", error="insufficient_scope", scope="${scope}"`,
      };
    case 'rate_limited':
      return { 'retry-after': String(retryAfter) };
    case 'unavailable':
      return { 'retry-after': '1' };
    default:
      return {};
  }
}

/** What the framework says, in our words. Its codes are listed at fastify.dev/docs/latest/Reference/Errors. */
const ofFramework: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'The media type of the body is not supported. Send application/json.',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large', 'The body is too large.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['bad_request', 'The body is empty. Send a JSON object.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['bad_request', 'The body is not valid JSON.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'bad_request',
    'The body does not have the length that its header says.',
  ],
  FST_ERR_BAD_URL: ['bad_request', 'The path is not valid percent-encoded UTF-8.'],
  FST_STATIC_FORBIDDEN_PATH: ['not_found', 'There is nothing at this path.'],
};

/** Whatever was thrown, as the error that it is to a caller. */
export function translate(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const { code = '', statusCode = 500, message } = thrown as FastifyError;
  const known = ofFramework[code];
  if (known) return new AppError(...known);
  // Only what a client did wrong may speak for itself; the message of any other error stays inside.
  if (code.startsWith('FST_') && statusCode === 400) return new AppError('bad_request', message);
  // A client that left while it was sending; its ECONNRESET must not look like one of the database.
  if (statusCode === 400) return new AppError('bad_request', 'The body did not arrive completely.');
  return explain(thrown);
}

/** Broken or dripping HTTP that never became a request: the answer is written by hand. */
export function answerBrokenHttp(this: FastifyInstance, error: Error & { code?: string }, socket: Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const answer = broken[error.code ?? ''] ?? new AppError('bad_request', 'The request is not valid HTTP.');
  const status = statusOf[answer.code];
  const body = JSON.stringify(envelope(answer));
  const id = randomUUID();
  this.log.info({ reqId: id, status, reason: error.code, address: socket.remoteAddress }, 'not understood');
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\nx-request-id: ${id}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    // A peer that never reads would keep the socket for ever.
    () => socket.destroy(),
  );
}
const broken: Record<string, AppError> = {
  HPE_HEADER_OVERFLOW: new AppError('headers_too_large', 'The headers are too large.'),
  ERR_HTTP_REQUEST_TIMEOUT: new AppError('timeout', 'The request did not arrive in time.'),
};
