import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { numberChanges } from '#src/changes/numbers.ts';
import { openLog } from '#src/telemetry/log.ts';
import { inside } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { holdCostly, openTestDatabase } from '#test/helper/database.ts';
import { openEvents, openFeed } from '#test/helper/eventStream.ts';
import { until } from '#test/rig/process.ts';

// Bug: a hundred streams read the log of changes all at once.
t.test(
  'hostile: what the readers of an account catch up on is read one after the other, beside other reads',
  async t => {
    const real = await openTestDatabase(t);
    const { database, begun, release, open } = holdCostly(t, real);
    const { call, url } = await openFeed(t, { database });
    const { newUser } = await build(t, { database: real });
    const start = await numberChanges(inside(real));
    const { id } = await newUser();
    await call('GET', '/api/users', 200);
    const opening = Array.from({ length: 5 }, () => openEvents(t, `${url}/api/changes?after=${start}`));
    await until('the first one reads', () => begun.length === 1);
    await sleep(300);
    t.equal(begun.length, 1, 'the others wait');
    t.match((await call('GET', '/api/users', 200)).body.data, [{ id }]);
    release();
    await until('the second one reads', () => begun.length === 2);
    open();
    for (const stream of await Promise.all(opening)) t.match(await stream.next(1), [{ data: { id } }]);
  },
);

// Bug: each WebSocket that a client closed while something was sent to it wrote an error into the log.
t.test('a client that leaves in the middle of an answer is no error in the log', async t => {
  const lines: string[] = [];
  const log = openLog({ LOG_LEVEL: 'debug' }, false, { write: line => void lines.push(line) });
  const { url } = await openFeed(t, { log });
  for (let i = 0; i < 5; i++) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/graphql`, 'graphql-transport-ws');
    await new Promise(resolve => {
      socket.onopen = resolve;
    });
    socket.send('{"type":"connection_init"}');
    for (let n = 0; n < 50; n++) socket.send(`{"type":"subscribe","id":"${n}","payload":{"query":"{"}}`);
    socket.close();
  }
  const said = () => lines.filter(line => line.includes('A message of a WebSocket failed'));
  await until('something could not be sent', () => said().length > 0);
  for (const line of said()) t.equal(JSON.parse(line).level, 20);
  t.notOk(lines.some(line => JSON.parse(line).level >= 50));
});
