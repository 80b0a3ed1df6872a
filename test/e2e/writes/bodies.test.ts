import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openEvents } from '#test/helper/eventStream.ts';
import { paymentEvent } from '#test/helper/events/webhooks.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import type { Part } from '#test/rig/cluster/part.ts';
import { has, openBalancer } from '#test/rig/openCluster.ts';
import { makeDataFolder, startService, until } from '#test/rig/process.ts';
import { deliver, secrets } from '#test/rig/sender.ts';

const skip = !has('nginx') && 'nginx is not installed';
const megabyte = 1024 * 1024;
/** The MiB that compose.yaml gives to the files of nginx. */
const space = Number(/\/run\/nginx:.*size=(\d+)m/.exec(readFileSync('deploy/compose.yaml', 'utf8'))?.[1]);

/** Returns where a descriptor leads, or nothing if it was closed meanwhile. */
function readlinkIfOpen(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** Counts the bytes of files that nginx has open in one of its folders; the files have no name any more. */
function bytesIn(nginx: Part, folder: 'body' | 'proxy'): number {
  const files = nginx.children().flatMap(pid => {
    const descriptors = readdirSync(`/proc/${pid}/fd`).map(name => `/proc/${pid}/fd/${name}`);
    return descriptors.filter(path => readlinkIfOpen(path).includes(`/${folder}/`));
  });
  return files.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** Sends a body without its last byte, and returns what comes back until then. */
function sendWithoutEnd(t: Test, port: number, path: string, size: number, from: string) {
  const sent = { status: undefined as number | undefined, text: '', isLost: false };
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  t.teardown(() => socket.destroy());
  socket.on('data', data => {
    sent.text += data;
    sent.status = Number(/^HTTP\/1.1 (\d+)/.exec(sent.text)?.[1]);
  });
  socket.on('error', () => {});
  socket.on('close', () => Object.assign(sent, { isLost: true }));
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(size - 1, 'x'));
  return sent;
}

t.test('bodies without their end fill no disk, and others are served', { skip }, async t => {
  const env = {
    DATA_DIR: makeDataFolder(t),
    TRUST_PROXY: '127.0.0.1',
    AUTH_MODE: 'open',
    WEBHOOK_SECRETS: secrets,
  };
  const service = await startService(t, env);
  const { port, url, balancer } = await openBalancer(t, [service.port]);
  const attack = (path: string, size: number, count: number, from: string) =>
    Array.from({ length: count }, () => sendWithoutEnd(t, port, path, size, from));
  const answered = (sent: ReturnType<typeof attack>) => sent.filter(({ status }) => status !== undefined);

  const large = attack('/api/users', 2_900_000, 100, '127.0.0.9');
  const [body, webhooks] = [250, 40];
  const bodies = attack('/api/users', 300_000, body, '127.0.0.9');
  const events = attack('/api/webhooks/stripe', 2_900_000, webhooks, '127.0.0.9');
  await until('what is too large is refused', () => answered(large).length === large.length, 30);
  t.same(new Set(large.map(({ status }) => status)), new Set([413]));
  await until(
    'what is too much is refused',
    () => answered([...bodies, ...events]).length >= body + webhooks - 200,
  );
  await sleep(2000);
  const held = body + webhooks - answered([...bodies, ...events]).length;
  t.ok(held > 100 && held <= 200, `${held} of an address are under way`);
  const [refusal] = answered([...bodies, ...events]);
  t.match(refusal, {
    status: 429,
    text: /retry-after: 1\r\n[\s\S]*"status":429,"details":{"code":"rate_limited"/i,
  });
  const bytes = bytesIn(balancer, 'body');
  t.ok(bytes > 10 * megabyte && bytes < space * megabyte, `${bytes} bytes in files, less than ${space} MB`);

  const from = '127.0.0.10';
  t.match(await ask(`${url}/api/users`, { ...json({ name: 'Ada', email: 'ada@example.com' }), from }), {
    status: 201,
  });
  const event = { ...paymentEvent(), filler: 'x'.repeat(2_000_000) };
  t.match(await deliver(url, JSON.stringify(event), { from }), { status: 200 }, 'a large webhook arrives');

  // The subscription of the event may become a change later.
  const changes = `${url}/api/changes?resource=user`;
  const streams = await Promise.all(Array.from({ length: 90 }, () => openEvents(t, changes)));
  t.match(
    await ask(`${url}/api/users`),
    { status: 200 },
    'many streams of one address leave place for others',
  );
  const { text } = await ask(`${url}/api/users`, json({ name: 'Bob', email: 'bob@example.com' }));
  for (const stream of streams) t.match(await stream.next(1), [{ data: { id: JSON.parse(text).id } }]);

  const { text: page } = await ask(`${url}/docs`);
  const [, script] = /src="([^"]*bundle[^"]*)"/.exec(page) ?? [];
  for (let i = 0; i < 5; i++) {
    const socket = connect({ port, host: '127.0.0.1' });
    t.teardown(() => socket.destroy());
    socket.on('error', () => {});
    socket.write(`GET ${script} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(10));
  }
  await sleep(2000);
  t.equal(bytesIn(balancer, 'proxy'), 0, 'nothing that a client does not read is in files');
});
