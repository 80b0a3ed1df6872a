// runs: long
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import t from 'tap';
import { openEvents } from '#test/helper/eventStream.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { has, openBalancer } from '#test/rig/openCluster.ts';
import { makeDataFolder, startService } from '#test/rig/process.ts';

/** A time that is longer than nginx waits for a server that says nothing. */
const quiet = 21_000;
const skip = !has('nginx') && 'nginx is not installed';

t.test('streams and WebSockets pass nginx, also when they are quiet', { skip }, async t => {
  const env = { DATA_DIR: makeDataFolder(t), TRUST_PROXY: '127.0.0.1', AUTH_MODE: 'open' };
  const service = await startService(t, env);
  const { port, url } = await openBalancer(t, [service.port]);
  const stream = await openEvents(t, `${url}/api/changes`);
  const client = createClient({ url: `ws://127.0.0.1:${port}/api/graphql`, retryAttempts: 0 });
  t.teardown(() => void client.dispose());
  const changes = client.iterate({ query: 'subscription { userChanged { id } }' });
  const result = changes.next();
  // A failure is reported below, where `result` is awaited, and not as an unhandled rejection.
  result.catch(() => {});
  const plain = { connection: 'upgrade', upgrade: 'h2c' };
  t.equal((await ask(`${url}/api/users`, { headers: plain })).status, 200, 'any other upgrade is none');
  await sleep(quiet);
  const { text } = await ask(`${service.url}/api/users`, json({ name: 'Ada', email: 'ada@example.com' }));
  const { id } = JSON.parse(text);
  t.match(await stream.next(1), [{ event: 'user.create', data: { id } }]);
  t.same((await result).value, { data: { userChanged: { id } } });
  const beats = stream.received.filter(({ id, data, retry }) => id && !data && !retry);
  t.ok(beats.length >= 1, `the position comes within ${quiet / 1000} s`);
  await service.kill('SIGTERM');
  await stream.ended;
  t.match(stream.received.at(-1), { retry: /^\d{4}$/ }, 'a clean end');
});
