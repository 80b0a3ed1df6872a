// runs: long
import t from 'tap';
import { createPostgres } from '#test/helper/database.ts';
import { openSink } from '#test/rig/effects/sink.ts';
import { call, makeDataFolder, startService, until, withSink } from '#test/rig/process.ts';
import { all } from '#test/rig/sender.ts';

const names = ['user.create', 'user.change'];

for (const backend of ['postgres', 'embedded'])
  t.test(`killed around an effect (${backend}): it is tried again, with the same key, in order`, async t => {
    /** Kills while the sink works on version 1, and once it has answered version 3, before the service knows. */
    const killed: Promise<unknown>[] = [];
    const kill = () => {
      killed.push(service.kill());
      return killed.at(-1);
    };
    const sink = await openSink(t, ({ version }) => {
      if (version === 1 && killed.length === 0) return { answer: 'taken', before: kill };
      if (version !== 3 || killed.length > 1) return { answer: 'taken' };
      return { answer: 'taken', before: () => service.child.kill('SIGSTOP'), afterwards: kill };
    });
    const env: Record<string, string> = { SINK_URL: sink.url, SINK_EFFECTS: names.join() };
    if (backend === 'postgres') env.DATABASE_URL = await createPostgres(t, { empty: true });
    else env.DATA_DIR = makeDataFolder(t);
    const start = () => startService(t, env, { options: withSink });
    let service = await start();

    const { body: user } = await call(service, 'POST', '/api/users', {
      name: 'Ada',
      email: 'ada@example.com',
    });
    await until('the first kill', () => killed.length === 1);
    await killed[0];
    const since = performance.now();
    service = await start();
    const path = `/api/users/${user.id}`;
    for (const name of ['Grace', 'Joan', 'Mary']) await call(service, 'PATCH', path, { name });
    await until('the second kill', () => killed.length === 2, 60);
    // On PostgreSQL the lease of the process that was killed has to end, 30 s; an embedded database has no other.
    const waited = (performance.now() - since) / 1000;
    t.ok(waited < (backend === 'postgres' ? 45 : 25), `${waited} s after the first kill`);
    await killed[1];
    service = await start();
    const isDone = async () => (await all(service.url, '/api/webhook-events?status=processed')).length === 4;
    await until('all are processed', isDone, 60);
    t.same(
      sink.calls.map(({ version, name }) => `${name} ${version}`),
      ['user.create 1', 'user.create 1', 'user.change 2', 'user.change 3', 'user.change 3', 'user.change 4'],
    );
    t.equal(new Set(sink.calls.map(({ key }) => key)).size, 4);
    t.equal(sink.overlaps(), 0);
  });
