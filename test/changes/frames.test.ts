import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openFeed } from '#test/helper/eventStream.ts';
import { request } from '#test/helper/http.ts';
import { until } from '#test/rig/process.ts';

/** A masked frame of a client, with this many bytes. */
function frame(first: number, length: number): Buffer {
  const bytes = Buffer.alloc(6 + length);
  bytes[0] = first;
  bytes[1] = 0x80 | length;
  return bytes;
}
const pong = frame(0x8a, 0);
const [begins, goesOn] = [frame(0x01, 1), frame(0x00, 1)];
const headers = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-protocol': 'graphql-transport-ws',
};

// Bug: one socket held 2 GB with fragments, and twenty that sent pongs kept the process too busy for anybody else.
for (const [what, allowed, more, code] of [
  ['pongs', Array.from({ length: 110 }, () => pong), pong, 4429],
  ['fragments', [begins, ...Array.from({ length: 15 }, () => goesOn)], goesOn, 1008],
] as const)
  t.test(`hostile: a WebSocket that sends nothing but ${what} is closed`, async t => {
    const { url } = await openFeed(t);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    t.teardown(() => socket.destroy());
    let got = Buffer.of();
    socket.on('data', data => {
      got = Buffer.concat([got, data]);
    });
    socket.on('error', () => {});
    const closed = new Promise(resolve => socket.once('close', resolve));
    socket.write(request('GET /api/graphql', headers));
    await until('it is open', () => got.includes(' 101 '), 10);
    const before = got.length;
    socket.write(Buffer.concat(allowed));
    await sleep(300);
    t.equal(got.length, before, 'as many as clients may send');
    socket.write(Buffer.concat(Array.from({ length: 20 }, () => more)));
    await closed;
    t.equal(got.readUInt16BE(before + 2), code);
  });
