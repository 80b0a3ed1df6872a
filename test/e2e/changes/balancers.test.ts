import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import t from 'tap';
import { openEvents } from '../../helper/eventStream.ts';
import { ask, json } from '../../rig/cluster/ask.ts';
import type { BalancerKind } from '../../rig/cluster/balancer.ts';
import { has, openBalancer } from '../../rig/openCluster.ts';
import { makeDataFolder, startService } from '../../rig/process.ts';

/** Longer than the balancers wait for a server that says nothing. */
const quiet = 21_000;
const skip = !(has('nginx') && has('haproxy')) && 'nginx or haproxy is not installed';

t.test(
  'streams and WebSockets pass the balancers of deploy/, also when they are quiet',
  { skip },
  async t => {
    const env = { DATA_DIR: makeDataFolder(t), TRUST_PROXY: '127.0.0.1', AUTH_MODE: 'open' };
    const service = await startService(t, env);
    const open = async (kind: BalancerKind) => {
      const { port, url } = await openBalancer(t, kind, [service.port]);
      const stream = await openEvents(t, `${url}/api/changes`);
      const client = createClient({ url: `ws://127.0.0.1:${port}/api/graphql`, retryAttempts: 0 });
      t.teardown(() => void client.dispose());
      const changes = client.iterate({ query: 'subscription { userChanged { id } }' });
      const result = changes.next();
      // Only when it is awaited does a failure say what it is.
      result.catch(() => {});
      const plain = { connection: 'upgrade', upgrade: 'h2c' };
      t.equal((await ask(`${url}/api/users`, { headers: plain })).status, 200, 'any other upgrade is none');
      return { kind, stream, result };
    };
    const opened = [await open('nginx'), await open('haproxy')];
    await sleep(quiet);
    const { text } = await ask(`${service.url}/api/users`, json({ name: 'Ada', email: 'ada@example.com' }));
    const { id } = JSON.parse(text);
    for (const { kind, stream, result } of opened) {
      t.match(await stream.next(1), [{ event: 'user.create', data: { id } }], kind);
      t.same((await result).value, { data: { userChanged: { id } } }, kind);
      const beats = stream.received.filter(({ id, data, retry }) => id && !data && !retry);
      t.ok(beats.length >= 1, `${kind}: the position comes within ${quiet / 1000} s`);
    }
    await service.kill('SIGTERM');
    for (const { kind, stream } of opened) {
      await stream.ended;
      t.match(stream.received.at(-1), { retry: /^\d{4}$/ }, `${kind}: a clean end`);
    }
  },
);
