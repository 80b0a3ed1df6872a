import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { AppError, type ErrorCode, statusOf } from '../../src/core/errors.ts';
import { toEnvelope } from './errors.ts';

const known: Record<string, [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['timeout', 'The request did not arrive in time.'],
};

/** Answers what never became a request. There is no reply object, so the response is written by hand. */
export function answerBrokenHttp(this: FastifyInstance, error: Error & { code?: string }, socket: Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [code, message] = known[error.code ?? ''] ?? ['bad_request', 'The request is not valid HTTP.'];
  const status = statusOf[code];
  const body = JSON.stringify(toEnvelope(new AppError(code, message)));
  const id = randomUUID();
  this.log.info({ reqId: id, status, reason: error.code, address: socket.remoteAddress }, 'broken HTTP');
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\nx-request-id: ${id}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    // A peer that never reads would keep the socket open for ever.
    () => socket.destroy(),
  );
}
