// runs: long
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { call, type Service, startService, until } from '#test/rig/process.ts';

interface Exchange {
  status: number;
  head: string;
  body: string;
  seconds: number;
}

/** Sends raw bytes, then repeats `drip` until the server closes the connection; returns its answer. */
function exchange({ port }: Service, bytes: string, drip = ''): Promise<Exchange> {
  const started = performance.now();
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', chunk => {
    text += chunk;
  });
  // A server that closes while we still write resets the connection; what it sent before still counts.
  socket.on('error', () => {});
  const drops = setInterval(() => drip && socket.writable && socket.write(drip), 100);
  const limit = setTimeout(() => socket.destroy(), 15_000);
  socket.on('close', () => {
    clearInterval(drops);
    clearTimeout(limit);
    const [head = '', body = ''] = text.split('\r\n\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    resolve({ status, head, body, seconds: (performance.now() - started) / 1000 });
  });
  if (bytes.length > 0) socket.write(bytes);
  return promise;
}

function checkTimeout(t: Test, { status, head, body, seconds }: Exchange) {
  t.equal(status, 408);
  t.match(head, /^content-type: application\/json/im);
  t.match(head, /^x-request-id: \S+/im);
  t.match(body && JSON.parse(body), {
    error: { status: 408, message: String, details: { code: 'timeout' } },
  });
  t.same(Object.keys(JSON.parse(body || '{}')), ['error']);
  t.ok(seconds > 9 && seconds < 16, `after ${seconds} s`);
}

const line = 'POST /api/users HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n';

// Nothing listens at this address: these requests never reach the database.
const unreachable = 'postgres://x:x@127.0.0.1:1/x';

t.test('on a raw socket', async t => {
  const service = await startService(t, { DATABASE_URL: unreachable }, { ready: false });

  await t.test('a client that does not finish its request gets 408 and is disconnected', async t => {
    const clients = {
      'sends nothing': exchange(service, ''),
      'sends half the headers': exchange(service, 'GET /api/users HTTP/1.1\r\nhost: x\r\nx-half'),
      'drips headers': exchange(service, 'GET /api/users HTTP/1.1\r\nhost: x\r\nx-drip: ', 'a'),
      'sends half the body': exchange(service, `${line}content-length: 900\r\n\r\n{`),
      // The answer would be a 503 if the deletion were tried.
      'sends no body of a deletion': exchange(
        service,
        'DELETE /api/users/x HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n',
      ),
      'drips a body': exchange(service, `${line}content-length: 900\r\n\r\n{`, ' '),
    };
    for (const [name, client] of Object.entries(clients))
      await t.test(name, async t => checkTimeout(t, await client));
  });

  /** Sends a request and resets the connection immediately. */
  async function sendAndReset(whenAccepted: boolean) {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    if (whenAccepted) await sleep(300);
    socket.write('GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n', () => socket.resetAndDestroy());
    await once(socket, 'close');
  }

  for (const [moment, whenAccepted] of [
    ['before it is accepted', false],
    ['right after sending', true],
  ] as const)
    await t.test(`a client that resets ${moment} causes no error`, async t => {
      const clients = 300;
      let asked = 0;
      const remaining = async () => {
        asked++;
        return Number((await call(service, 'GET', '/nothing')).headers['ratelimit-remaining']);
      };
      const linesBefore = service.lines.length;
      const before = await remaining();
      await Promise.all(Array.from({ length: clients }, () => sendAndReset(whenAccepted)));
      // A connection that was reset before it was accepted may have lost its address, and counts under another key.
      if (whenAccepted)
        await until('all are counted', async () => before - (await remaining()) === clients + asked - 1);
      t.equal((await call(service, 'GET', '/health/live')).status, 200);
      const failures = service.lines.slice(linesBefore).filter(({ level }) => level >= 50);
      t.same(failures.slice(0, 3), []);
    });

  await t.test('the service still answers afterwards', async t => {
    t.equal((await call(service, 'GET', '/health/live')).status, 200);
    t.equal(service.child.exitCode, null);
    t.equal(service.errors(), '');
  });
});

t.test('a client that does not read its responses is disconnected, and delays no other client', async t => {
  const env = { DATABASE_URL: unreachable, REQUEST_TIMEOUT: '2' };
  const service = await startService(t, env, { ready: false });
  const openSockets = async () => {
    const { text } = await call(service, 'GET', '/metrics');
    return Number(/^nodejs_active_resources\{type="TCPSocketWrap"\} (\d+)$/m.exec(text)?.[1]);
  };
  // The socket of the request for the metrics.
  const own = 1;
  const [library = ''] = /[^"]+bundle\.js/.exec((await call(service, 'GET', '/docs')).text) ?? [];
  // The number of requests that a connection may have unanswered.
  const asked = 20;
  const socket = connect(service.port, '127.0.0.1');
  socket.on('error', () => {});
  // The answers are far more than the socket buffers hold: the rest would fill the memory of the server.
  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
  socket.write(ask('/docs/json').repeat(12) + ask(library).repeat(asked - 12));
  await once(socket, 'connect');
  await until('it is connected', async () => (await openSockets()) > own);
  // This takes twice 12 s (10 for a request, 2 for its answer) after the last byte is buffered: Node looks twice.
  await until('it is disconnected', async () => {
    await sleep(300);
    t.equal((await call(service, 'GET', '/health/live')).status, 200);
    return (await openSockets()) === own;
  });
  let answers = 0;
  socket.on('data', chunk => {
    answers += chunk.toString('latin1').split('HTTP/1.1 200').length - 1;
  });
  await once(socket, 'close', { signal: AbortSignal.timeout(60_000) });
  t.ok(answers > 0 && answers < asked, `${answers} answers were in transit when it was disconnected`);
});
