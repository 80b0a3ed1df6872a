import t from 'tap';
import { openPostgres } from '../../src/database/postgres/postgres.ts';
import { backend, createPostgres, testLog } from '../helper/database.ts';
import { outcome, passOnUntil, startFakeServer } from '../helper/servers/fakeServer.ts';
import { until } from '../rig/process.ts';

const onPostgres = backend === 'postgres' ? {} : { skip: 'needs a server: node scripts/test.ts postgres' };

t.test('statements on connections that are silent fail, and new connections serve', onPostgres, async t => {
  const target = await createPostgres(t);
  let machine = 1;
  // As when a machine is lost and another one takes its address.
  const { url } = await startFakeServer(t, socket => {
    const own = machine;
    passOnUntil(
      target,
      () => own !== machine,
      () => {},
    )(socket);
  });
  const through = Object.assign(new URL(target), { host: new URL(url).host });
  const database = openPostgres({ url: through.href, connections: 2 }, testLog);
  t.teardown(() => database.close());
  await database.ready;
  const both = () => [database.reads, database.writes].map(db => outcome(db.rows('select 1', []), 15_000));
  t.same(await Promise.all(both()), ['done', 'done']);
  machine = 2;
  for (const ended of await Promise.all(both())) t.match(ended, /^CONNECTION_/);
  await until('it is available', () => database.available());
  t.same(await Promise.all(both()), ['done', 'done']);
});
