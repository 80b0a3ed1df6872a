import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { backend } from '../../helper/database.ts';
import { outcome, watchUncaught } from '../../helper/servers/fakeServer.ts';
import { holdSockets, makeClient } from './client.ts';

const onPostgres = backend === 'postgres' ? {} : { skip: 'needs a server: node scripts/test.ts postgres' };

t.test('a connection lost before a statement was written can be reopened: #1215', onPostgres, async t => {
  const held = holdSockets();
  const { sql } = await makeClient(t, { max: 2, socket: held.open });
  const both = () => Promise.all([1, 2].map(() => outcome(sql`select pg_sleep(0.1)`)));
  t.same(await both(), ['done', 'done']);
  // In one turn of the event loop: the statement goes to the other connection, which closes before it is written.
  const lost = Promise.race(held.sockets.map(socket => once(socket, 'close'))).then(() =>
    outcome(sql`select 1`),
  );
  for (const socket of held.sockets) socket.destroy();
  t.equal(await lost, 'CONNECTION_CLOSED');
  t.same(await both(), ['done', 'done']);
});

t.test('the error of a lost connection is not repeated on the next one: #1223', onPostgres, async t => {
  const { sql, terminate } = await makeClient(t, { max: 1 });
  const lost = outcome(sql`select pg_sleep(5)`);
  await sleep(100);
  await terminate();
  t.match(await lost, /^(57P01|CONNECTION_CLOSED)$/);
  t.equal(await outcome(sql`select 1`), 'done');
});

t.test('a client that has lost a connection can be ended: #1097', onPostgres, async t => {
  const { sql, terminate } = await makeClient(t, { max: 1 });
  const lost = outcome(sql`select pg_sleep(5)`);
  await sleep(100);
  await terminate();
  t.not(await lost, 'nothing');
  t.equal(await outcome(sql.end({ timeout: 5 }), 3000), 'done');
});

t.test('a reserved connection that was lost refuses its statements: #1208', onPostgres, async t => {
  const { sql, terminate } = await makeClient(t, { max: 1 });
  const uncaught = watchUncaught(t);
  const reserved = await sql.reserve();
  await reserved`select 1`;
  await terminate();
  await sleep(50);
  for (let i = 0; i < 3; i++) t.equal(await outcome(reserved`select 1`), 'CONNECTION_CLOSED');
  await sleep(50);
  t.same(uncaught, []);
});
