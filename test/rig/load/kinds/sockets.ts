import type { Socket } from 'node:net';
import { bytesOf, type Kind, pump, reconnect, together } from '#test/rig/load/client.ts';

const upgrade = bytesOf(
  { key: '' },
  {
    path: '/api/graphql',
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol': 'graphql-transport-ws',
    },
  },
).replace(/authorization: .*\r\n/, '');

/** Returns the frame of a message, masked with zeros. */
function frame(message: object): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  const length = text.length < 126 ? [0x80 + text.length] : [0xfe, text.length >> 8, text.length & 0xff];
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), text]);
}

/** Counts why the service closes a socket: the last frame has a code. */
function countCodes(socket: Socket, count: (what: string) => void): void {
  let last = Buffer.alloc(0);
  socket.on('data', data => {
    last = data;
  });
  socket.on('close', () => {
    const at = last.lastIndexOf(0x88);
    if (at >= 0 && at + 4 <= last.length) count(`code ${last.readUInt16BE(at + 2)}`);
  });
}

/** Sends messages on a few sockets as fast as they are taken: from the beginning, or once `hello` was acknowledged. */
const talker = (name: string, next: (n: number) => Buffer, hello?: (key: string) => object): Kind => ({
  name,
  attack: (target, signal) =>
    together(4, () =>
      reconnect(target, signal, socket => {
        countCodes(socket, target.count);
        socket.write(upgrade);
        let n = 0;
        const many = () => next(n++);
        socket.once('data', () => void (hello ? socket.write(frame(hello(target.key))) : pump(socket, many)));
        if (hello) socket.on('data', data => data.includes('connection_ack') && pump(socket, many));
      }),
    ),
});

/** The number of messages in each write. */
const several = 500;

const pinged = Buffer.concat(Array(several).fill(frame({ type: 'ping' })));
const pings = talker('6a pings of nobody', () => pinged);

const subscribed = (n: number, i: number) =>
  frame({ id: `${n}-${i}`, type: 'subscribe', payload: { query: 'subscription { postChanged { id } }' } });

const subscribes = talker(
  '6b subscriptions beyond a limit',
  n => Buffer.concat(Array.from({ length: several }, (_, i) => subscribed(n, i))),
  key => ({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } }),
);

export const socketKinds = [pings, subscribes];
