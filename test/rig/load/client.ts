import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The service, as one hostile client sees it. */
export interface Target {
  port: number;
  key: string;
  /** The address of the client. */
  from: string;
  /** The position at which the changes began. */
  position: string;
  /** Counts what the client got. */
  count(what: string): void;
}

export interface Kind {
  name: string;
  /** Attacks until `signal` aborts; what it opened may still be open then. */
  attack(target: Target, signal: AbortSignal): Promise<unknown>;
}

interface Sent {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export const graphql = (query: string, headers: Record<string, string> = {}): Sent => ({
  method: 'POST',
  path: '/api/graphql',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ query }),
});

/** Runs `work` this many times at once. */
export const together = (times: number, work: (n: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: times }, (_, n) => work(n)));

/** Sends `atOnce` requests at a time, and counts the answers by their outcome. */
export async function flood(target: Target, signal: AbortSignal, atOnce: number, next: (n: number) => Sent) {
  const agent = new Agent({ keepAlive: true });
  let n = 0;
  await together(atOnce, async () => {
    while (!signal.aborted) {
      const outcome = await send(target, agent, next(n++));
      target.count(outcome);
      // A service that is gone refuses connections as fast as they are asked for.
      if (!Number(outcome)) await sleep(10);
    }
  });
}

function send({ port, key, from }: Target, agent: Agent, { body, ...sent }: Sent): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, ...sent.headers };
  const options = { host: '127.0.0.1', port, localAddress: from, agent, ...sent, headers };
  return new Promise(resolve => {
    const failed = (error: NodeJS.ErrnoException) => resolve(error.code ?? 'lost');
    request(options, reply => {
      reply.resume().on('end', () => resolve(`${reply.statusCode}`));
      reply.on('error', failed);
    })
      .on('error', failed)
      .end(body);
  });
}

/** The bytes of a request. */
export function bytesOf(
  { key }: Pick<Target, 'key'>,
  { method = 'GET', path, headers, body = '' }: Sent,
): string {
  const all = { host: 'localhost', authorization: `Bearer ${key}`, ...headers };
  const lines = Object.entries({ ...all, ...(body && { 'content-length': Buffer.byteLength(body) }) });
  return `${method} ${path} HTTP/1.1\r\n${lines.map(pair => `${pair.join(': ')}\r\n`).join('')}\r\n${body}`;
}

/** Opens a connection, and another one whenever it is closed. `begin` says what to do with each. */
export async function reconnect(target: Target, signal: AbortSignal, begin: (socket: Socket) => void) {
  const { port, from, count } = target;
  while (!signal.aborted) {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from });
    const closed = new Promise<void>(resolve => {
      const leave = () => socket.destroy();
      signal.addEventListener('abort', leave);
      socket.on('error', (error: NodeJS.ErrnoException) => count(error.code ?? 'lost'));
      socket.on('close', () => {
        signal.removeEventListener('abort', leave);
        if (!signal.aborted) count('closed');
        resolve();
      });
    });
    socket.on('connect', () => begin(socket));
    await closed;
    if (!socket.bytesRead) await sleep(10);
  }
}

/** Reads, and counts the answers by their status. */
export const countAnswers = (socket: Socket, { count }: Target) =>
  socket.on('data', data => {
    for (const [, status = ''] of data.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g)) count(status);
  });

/** Writes one part after the other, as fast as they are taken. */
export function pump(socket: Socket, next: () => string | Buffer): void {
  const write = () => {
    if (socket.writable && socket.write(next())) setImmediate(write);
  };
  // Writes in the next turn of the event loop: a loop of writes that are taken would never read.
  socket.on('drain', () => setImmediate(write));
  write();
}
