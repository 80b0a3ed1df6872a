// runs: long
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { createPostgres } from '#test/helper/database.ts';
import { outcome } from '#test/helper/servers/fakeServer.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { call, preload, spawnService, startService } from '#test/rig/process.ts';

// Bug: connections waited forever, and writes were internal errors.
t.test('a migration that changes the type of a column does not disturb a running instance', async t => {
  const DATABASE_URL = await createPostgres(t, { empty: true });
  const service = await startService(t, { DATABASE_URL, DATABASE_POOL_SIZE: '1' });
  const answers = new Set<string>();
  let isChanging = true;
  const send = async (method: string, path: string, body?: unknown) => {
    const reply = await call(service, method, path, body);
    answers.add(`${method} ${reply.status}`);
    return reply.body;
  };
  const clients = Array.from({ length: 16 }, async (_, client) => {
    for (let i = 0; isChanging; i++) {
      const { id } = await send('POST', '/api/users', {
        name: 'Ada',
        email: `ada${client}.${i}@example.com`,
      });
      const reads = [`/api/users/${id}`, '/api/users?sort=name&limit=5'].map(path => send('GET', path));
      await Promise.all([...reads, send('PATCH', `/api/users/${id}`, { name: `Ada ${i}` })]);
    }
  });
  const ended = outcome(Promise.all(clients), 15_000);
  for (const type of ['varchar(200)', 'text', 'varchar(300)', 'text', 'varchar(400)', 'text']) {
    await sleep(300);
    await queryPostgres(DATABASE_URL, `alter table users alter name type ${type} collate "C"`);
  }
  isChanging = false;
  t.equal(await ended, 'done', 'every request is answered');
  t.same([...answers].sort(), ['GET 200', 'PATCH 200', 'POST 201']);
});

t.test('the service refuses to start on Postgres with an unpatched driver', async t => {
  const NODE_OPTIONS = preload(`import { registerHooks } from 'node:module';
    const unpatch = source => String(source).replace(/patch: 'fixed-\\d+',/, '');
    const load = (url, context, next) => {
      const { source, ...rest } = next(url, context);
      return { ...rest, source: url.endsWith('/postgres/src/index.js') ? unpatch(source) : source };
    };
    registerHooks({ load });`);
  const service = spawnService(t, { DATABASE_URL: await createPostgres(t), NODE_OPTIONS });
  t.equal(await service.ended, 1);
  t.match(service.errors(), /The postgres driver is not patched: run `npx patch-package`/);
});
