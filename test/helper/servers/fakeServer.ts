import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

/** Starts a server that handles its connections as a test requires, and counts them. */
export async function startFakeServer(t: Test, handle: (socket: Socket) => void) {
  const open = new Set<Socket>();
  const seen = {
    count: 0,
    /** Returns whether every connection is closed within 3 s. */
    allClosed: async () => {
      for (let i = 0; i < 300 && open.size > 0; i++) await sleep(10);
      return open.size === 0;
    },
  };
  const server = createServer({ allowHalfOpen: true }, socket => {
    seen.count++;
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    handle(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { seen, url: `postgres://x:x@127.0.0.1:${port}/x` };
}

/** Acts like a frozen server: the kernel accepts connections for it, but it neither answers nor closes them. */
export function sayNothing(socket: Socket): void {
  // A client that only ended its side would still read this; one that is gone resets the connection.
  socket.resume().on('end', async () => {
    for (let i = 0; i < 3 && socket.writable; i++, await sleep(10)) socket.write('?');
  });
}

/** Acts like a balancer with nothing behind it. */
export const hangUp = (socket: Socket) => void socket.resume().end();

/** Acts like a PostgreSQL whose connections are all taken. */
export function refuseClient(socket: Socket): void {
  const fields = Buffer.from('SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0');
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(fields.length + 4, 1);
  socket.end(Buffer.concat([head, fields]));
}

/** Passes everything on to a real server until the client sends what `isLast` matches, which `end` answers. */
export const passOnUntil =
  (target: string, isLast: (chunk: Buffer) => boolean, end: (socket: Socket) => void = hangUpHard) =>
  (socket: Socket) => {
    const { hostname, port } = new URL(target);
    const server = connect(Number(port), hostname);
    server.on('data', chunk => socket.write(chunk)).on('error', () => {});
    server.on('end', () => socket.end());
    socket.on('close', () => server.destroy());
    socket.on('data', chunk => (isLast(chunk) ? end(socket) : server.write(chunk)));
  };
const hangUpHard = (socket: Socket) => void socket.destroy();

/** Returns how a statement ended: `done`, the code of its error, or `nothing` if it did not end in time. */
export const outcome = (work: PromiseLike<unknown>, milliseconds = 3000): Promise<string> =>
  Promise.race([
    Promise.resolve(work).then(
      () => 'done',
      error => String(error.code),
    ),
    sleep(milliseconds, 'nothing', { ref: false }),
  ]);

/** Collects uncaught errors and unhandled rejections, which would end a process that has no listener. */
export function watchUncaught(t: Test): unknown[] {
  const uncaught: unknown[] = [];
  const note = (error: unknown) => uncaught.push(error);
  process.on('uncaughtException', note).on('unhandledRejection', note);
  t.teardown(() => process.off('uncaughtException', note).off('unhandledRejection', note));
  return uncaught;
}
