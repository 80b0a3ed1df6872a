import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { bearer, makeKey } from '../helper/access.ts';
import { openTestDatabase } from '../helper/database.ts';
import { openFeed } from '../helper/eventStream.ts';

/** Opens a WebSocket by hand, and tells its close code: 1006 when there was none. */
async function openSocket(
  url: string,
  { headers = {}, protocols = 'graphql-transport-ws', path = '/api/graphql' } = {},
) {
  const socket = new WebSocket(url.replace('http', 'ws') + path, { protocols, headers });
  const closed = new Promise<number>(resolve =>
    socket.addEventListener('close', ({ code }) => resolve(code)),
  );
  await Promise.race([closed, new Promise(resolve => socket.addEventListener('open', resolve))]);
  const acknowledge = () => {
    socket.send('{"type":"connection_init"}');
    return new Promise<MessageEvent>(resolve => socket.addEventListener('message', resolve, { once: true }));
  };
  return { socket, closed, acknowledge };
}

t.test('a WebSocket takes the credentials of its upgrade, and is closed with 1012 at the end', async t => {
  const database = await openTestDatabase(t);
  const { url, app } = await openFeed(t, { database, settings: { AUTH_MODE: 'required' } });
  const { key } = await makeKey(database, ['read']);
  const { closed, acknowledge } = await openSocket(url, { headers: bearer(key) });
  t.match(JSON.parse(String((await acknowledge()).data)), { type: 'connection_ack' });
  const early = await openSocket(url);
  early.socket.send('{"type":"subscribe","id":"1","payload":{"query":"{ usersCount }"}}');
  t.equal(await early.closed, 4401, 'before it said who it is');
  t.equal(await (await openSocket(url, { protocols: 'graphql-ws' })).closed, 1006, 'another protocol');
  const elsewhere = await openSocket(url, { headers: bearer(key), path: '/api/users' });
  t.equal(await elsewhere.closed, 1006, 'another path');
  await app.close();
  t.equal(await closed, 1012);
});

t.test('hostile: the subscriptions of a WebSocket end with it, and no other site opens one', async t => {
  const { url, call } = await openFeed(t);
  const streams = async () =>
    Number(/^streams_open (\d+)$/m.exec((await call('GET', '/metrics', 200)).text)?.[1]);
  const { socket, acknowledge } = await openSocket(url, { headers: { origin: url } });
  await acknowledge();
  for (let i = 0; i < 5; i++) {
    const payload = { query: 'subscription { userChanged { id } }' };
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload }));
    if (i < 4) socket.send('{"id":"1","type":"complete"}');
  }
  for (let open = 0; open < 2; await sleep(10)) open = await streams();
  socket.close();
  for (let open = 1; open > 0; await sleep(10)) open = await streams();
  for (const type of ['next', 'connection_ack', 'nonsense']) {
    const { socket, closed } = await openSocket(url);
    socket.send(JSON.stringify({ type, id: '1', payload: {} }));
    t.equal(await closed, 4400, type);
  }
  t.equal(await (await openSocket(url, { headers: { origin: 'https://evil.example' } })).closed, 1006);
});

t.test('hostile: each operation over a WebSocket counts, also one that is refused', async t => {
  const { url } = await openFeed(t, { settings: { RATE_LIMIT_MAX: 20 } });
  const { socket, acknowledge } = await openSocket(url);
  await acknowledge();
  const codes: string[] = [];
  socket.addEventListener('message', ({ data }) => {
    const { type, payload } = JSON.parse(data);
    if (type === 'error') codes.push(payload[0].extensions.code);
  });
  const payload = { query: '{' };
  for (let i = 0; i < 30; i++) socket.send(JSON.stringify({ id: `${i}`, type: 'subscribe', payload }));
  for (const end = Date.now() + 10_000; codes.length < 30 && Date.now() < end; ) await sleep(10);
  t.equal(codes.filter(code => code === 'GRAPHQL_PARSE_FAILED').length, 19);
  t.equal(codes.filter(code => code === 'RATE_LIMITED').length, 11);
});
