// runs: long, late
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openEvents } from '#test/helper/eventStream.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { call, makeDataFolder, startService, until, withWorld } from '#test/rig/process.ts';

/** More events of 40 kB than all buffers hold, those of the kernel included. */
const many = 500;
const inOne = 25;

t.test('a live reader that does not read is cut, and one that catches up may stand still', async t => {
  const service = await startService(t, { DATA_DIR: makeDataFolder(t) }, { options: withWorld });
  const burrowId = (await call(service, 'POST', '/api/burrows', { label: 'Deep' })).body.id;
  const open = async () =>
    Number(/^streams_open (\d+)$/m.exec((await call(service, 'GET', '/metrics')).text)?.[1]);
  const live = await openEvents(t, `${service.url}/api/changes`);
  const [beginning] = await live.next(1, () => true);
  const stalled = connect(service.port, '127.0.0.1');
  t.teardown(() => stalled.destroy());
  stalled.on('error', () => {}).pause();
  stalled.write('GET /api/changes HTTP/1.1\r\nhost: x\r\n\r\n');
  await until('both are open', async () => (await open()) === 2);

  const fields = Array.from({ length: inOne }, (_, i) => `s${i}: createSpecimen(input: $input) { id }`);
  const query = `mutation ($input: SpecimenCreateInput!) { ${fields.join(' ')} }`;
  const variables = { input: { label: 'Long', remark: 'é'.repeat(20_000), burrowId } };
  for (let made = 0; made < many; made += inOne)
    await ask(`${service.url}/api/graphql`, json({ query, variables }));
  await until('the one that does not read is cut', async () => (await open()) === 1);
  t.equal((await live.next(many)).length, many, 'the other one has everything');
  live.close();

  const headers = { 'last-event-id': beginning?.id ?? '' };
  const { body } = await fetch(`${service.url}/api/changes`, { headers });
  let [events, rest] = [0, ''];
  for await (const chunk of body ?? []) {
    // A live reader may not stand still for so long.
    if (events === 0) await sleep(8000);
    const text = rest + Buffer.from(chunk).toString('latin1');
    events += text.split('\ndata:').length - 1;
    // The separator may be cut in two by the end of a chunk.
    rest = text.slice(-5);
    if (events >= many) break;
  }
  t.equal(events, many);
});
