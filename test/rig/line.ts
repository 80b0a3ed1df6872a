import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { freePort } from './servers/ports.ts';

/** A line to a database that can be cut, as when the server or the network fails. */
export async function openLine(t: Test, target: string) {
  const url = new URL(target);
  const { hostname, port } = url;
  url.port = String(await freePort());
  const sockets = new Set<Socket>();
  let open = false;
  const server = createServer(near => {
    if (!open) return near.destroy();
    const far = connect(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one
        .on('error', () => {})
        .on('close', () => {
          other.destroy();
          sockets.delete(one);
        });
      one.pipe(other);
    }
  }).listen(Number(url.port), '127.0.0.1');
  const cut = () => {
    open = false;
    for (const socket of sockets) socket.destroy();
  };
  const restore = () => {
    open = true;
  };
  t.teardown(() => {
    cut();
    server.close();
  });
  return { url: url.href, cut, restore };
}
