import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { Shares } from '../../../src/access/shares.ts';
import { overloaded } from '../../../src/core/errors.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** How many bytes of a stream wait for its connection. */
    waiting: (() => number) | null;
  }
}

/** Requests of one connection that are not answered yet. Clients that send ahead send a few. */
const mostUnanswered = 20;
/** Bytes of bodies that are under way: of an account, and in a process. */
const [ownBytes, allBytes] = [8_000_000, 64_000_000];
/** Bytes that wait for the clients of one account, and how often they are added up, in milliseconds. */
const mostUnsent = 16_000_000;
const lookEvery = 250;

interface Connection {
  replies: Set<FastifyReply>;
  /** The newest request. */
  request?: FastifyRequest;
}

/** Closes a connection that sends requests far ahead, and the one with the most bytes that its client does not read. */
export default fp(async app => {
  const connections = new Map<Socket, Connection>();
  app.server.on('connection', (socket: Socket) => {
    connections.set(socket, { replies: new Set() });
    socket.once('close', () => connections.delete(socket));
  });

  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const connection = connections.get(socket);
    // An injected request has none.
    if (!connection) return done();
    const { replies } = connection;
    if (replies.size >= mostUnanswered) {
      reply.hijack();
      socket.destroy();
      return;
    }
    connection.request = request;
    replies.add(reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    connections.get(request.raw.socket)?.replies.delete(reply);
    done();
  });

  const bodies = new Shares(ownBytes, allBytes);
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { name } = request.account;
    let held = 0;
    const count = ({ length }: Buffer) => {
      if (bodies.take(name, length)) held += length;
      // Fastify stops reading the body, and answers.
      else payload.off('data', count).emit('error', overloaded());
    };
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    if (Number(length) > 0 || encoding !== undefined) {
      payload.on('data', count);
      reply.raw.once('close', () => bodies.give(name, held));
    }
    done(null, payload);
  });

  app.decorateReply('waiting', null);
  const timer = setInterval(() => {
    const unread = [...connections].map(([socket, connection]) => ({
      socket,
      name: connection.request?.account.name,
      bytes: unsentOf(socket, connection),
    }));
    for (const own of Map.groupBy(unread, ({ name }) => name).values()) {
      let sum = own.reduce((sum, { bytes }) => sum + bytes, 0);
      for (const { socket, bytes } of own.sort((a, b) => b.bytes - a.bytes)) {
        if (sum <= mostUnsent) break;
        sum -= bytes;
        socket.destroy();
      }
    }
  }, lookEvery).unref();
  app.addHook('onClose', async () => clearInterval(timer));
});

/** What the socket has not sent yet, and what waits behind that. */
function unsentOf(socket: Socket, { replies }: Connection): number {
  const waiting = [...replies].map(({ raw, waiting }) => raw.writableLength + (waiting?.() ?? 0));
  return Math.max(
    socket.writableLength,
    waiting.reduce((sum, bytes) => sum + bytes, 0),
  );
}
