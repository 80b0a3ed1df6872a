import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Citus, citusPrograms } from '#test/rig/citus/citus.ts';
import { call, makeFolder, runCommand, startService } from '#test/rig/process.ts';

const skip = !citusPrograms() && 'needs Citus';

const run = (url: string, script: string, ...args: string[]) =>
  runCommand(`scripts/${script}.ts`, args, { DATABASE_URL: url });

async function start(t: Test) {
  const citus = await Citus.start(join(makeFolder(t), 'citus'));
  t.teardown(() => citus.stop());
  return { citus, url: await citus.createDatabase() };
}

const storeEvent = `insert into webhook_events (id, provider, preset, fingerprint, status, body, created_at, updated_at)
  select gen_random_uuid(), 'x', 'x', sha256(g::text::bytea), 'dead', repeat('x', 2000)::bytea, now(), now() from generate_series(1, 500) g`;

t.test('bug: no server started while a node was away', { skip }, async t => {
  const { citus, url } = await start(t);
  await run(url, 'migrate', '--spread');
  await citus.nodes[1].stop();
  // Citus would pass a `create schema if not exists` of the start on to all nodes, and fail.
  const service = await startService(t, { DATABASE_URL: url });
  t.equal((await call(service, 'GET', '/api/users')).status, 200);
});

t.test('what was spread is no longer on the coordinator', { skip }, async t => {
  const { citus, url } = await start(t);
  await run(url, 'migrate');
  await citus.coordinator.query(storeEvent);
  await run(url, 'migrate', '--spread');
  // Citus keeps the rows that it has copied, where nobody sees them and no retention deletes them.
  const [size] = await citus.coordinator.query(`select pg_relation_size('webhook_events')::int as bytes`);
  t.same(size, { bytes: 0 });
});

t.test('a restored backup can be spread', { skip }, async t => {
  const { citus, url } = await start(t);
  await run(url, 'migrate', '--spread');
  await citus.coordinator.query(storeEvent);
  const file = join(makeFolder(t), 'backup');
  await run(url, 'backup', file);
  const restored = await citus.createDatabase('restored');
  await run(restored, 'restore', file);
  t.match((await run(restored, 'migrate', '--spread')).out, 'The tables are spread.');
  t.match(await citus.coordinator.query('select count(*)::int as n from webhook_events', 'restored'), [
    { n: 500 },
  ]);
});
