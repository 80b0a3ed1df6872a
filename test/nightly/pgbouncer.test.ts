import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { serviceName } from '#schemas/name.ts';
import { readSettings } from '#src/config/settings.ts';
import { statementTimeout } from '#src/config/timeouts.ts';
import { connectTo } from '#src/database/postgres/client.ts';
import { createPostgres } from '#test/helper/database.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { call, spawnService, startService, until, withWorld } from '#test/rig/process.ts';
import { all, pay, payMany, secrets, total } from '#test/rig/sender.ts';
import { connectQuery, hasPgBouncer, sessions, startPgBouncer } from '#test/rig/servers/pgbouncer.ts';
import { makeTablesAt } from '#test/world/tables.ts';

const limits = [...connectQuery.matchAll(/set (\w+)/g)].map(([, name = '']) => name);

const skip = !hasPgBouncer && 'pgbouncer is not installed';
t.test('everything works through PgBouncer in transaction mode, on few sessions', { skip }, async t => {
  const direct = await createPostgres(t, { empty: true });
  const name = new URL(direct).pathname.slice(1);
  await queryPostgres(direct, `alter database ${name} set timezone = 'Asia/Tokyo'`);
  const env = {
    DATABASE_URL: await startPgBouncer(t, direct),
    DATABASE_POOLER: 'transaction',
    DATABASE_POOL_SIZE: '10',
    WEBHOOK_SECRETS: secrets,
    NODE_OPTIONS: withWorld.join(' '),
  };
  t.same(await limitsOf(env.DATABASE_URL), await limitsOf(direct), 'the same timeouts with and without it');
  // Both servers migrate through the pooler at once.
  const [one, two] = await Promise.all([startService(t, env), startService(t, env)]);
  await makeTablesAt(direct);
  // The servers warn that they are not ready until they are; later warnings count.
  const linesBefore = new Map([one, two].map(({ lines }) => [lines, lines.length]));

  const { body: burrow } = await call(one, 'POST', '/api/burrows', { label: 'Deep' });
  const { body: user } = await call(one, 'POST', '/api/users', { name: 'Ada', email: 'ada@example.com' });
  t.match(user.createdAt, /Z$/, 'times are in UTC whatever the database says');
  t.equal((await call(two, 'PATCH', `/api/users/${user.id}`, { name: 'Ada King' })).body.name, 'Ada King');
  const query = '{ users { name tendings { id } } }';
  t.same((await ask(`${two.url}/api/graphql`, json({ query }))).body, {
    data: { users: [{ name: 'Ada King', tendings: [] }] },
  });

  const below = { method: 'POST', path: '/api/specimens', body: { label: 'A molar', burrowId: '$0' } };
  const operations = [{ ...below, path: '/api/burrows', body: { label: 'New' } }, ...Array(9).fill(below)];
  const { body: written } = await call(two, 'POST', '/api/batch', { operations });
  t.equal(written.results.length, 10, 'statements that are sent one behind the other are all answered');
  await call(one, 'DELETE', `/api/burrows/${written.results[0].body.id}?cascade=true`);

  // There are more requests at once than sessions, with transactions among them. Each changes a different user, so that
  // they do not wait for each other.
  const writers = Array.from({ length: 50 }, async (_, i) => {
    const writer = { name: 'Grace', email: `grace${i}@example.com` };
    return { ...writer, id: (await call(one, 'POST', '/api/users', writer)).body.id };
  });
  const others = await Promise.all(writers);
  const statuses = await Promise.all(
    Array.from({ length: 150 }, async (_, i) => {
      const at = i % 2 ? one : two;
      if (i % 3 === 0) return (await call(at, 'GET', '/api/users?sort=-name&limit=5')).status;
      if (i % 3 === 1) {
        const { id, email = '' } = others[Math.floor(i / 3)] ?? {};
        return (await call(at, 'PUT', `/api/users/${id}`, { name: `${i}`, email })).status;
      }
      return (await call(at, 'POST', '/api/specimens', { label: `${i}`, burrowId: burrow.id })).status;
    }),
  );
  t.same(new Set(statuses), new Set([200, 201]));
  t.equal(await total(one.url, '/api/specimens'), 50);
  const [used] = await queryPostgres(
    direct,
    `select count(*)::int as sessions from pg_stat_activity where datname = '${name}' and application_name = '${serviceName}'`,
  );
  t.ok(Number(used?.sessions) <= sessions, `${used?.sessions} sessions carry two instances`);

  t.equal((await payMany(() => one.url, { from: 0, to: 100 })).size, 100);
  await until('the events are processed', async () => (await total(two.url, '/api/subscriptions')) === 100);
  const before = Date.now();
  await pay(two.url, 'evt_quiet', 'cus_quiet');
  await until('the worker is woken', async () => (await total(one.url, '/api/subscriptions')) === 101, 5);
  t.ok(Date.now() - before < 900, `${Date.now() - before} ms`);
  t.equal((await all(one.url, '/api/webhook-events')).length, 101);
  for (const { lines } of [one, two])
    t.same(
      lines.slice(linesBefore.get(lines)).filter(line => line.level >= 40),
      [],
      'no warning',
    );
});

/** All settings of a session without a pooler: PgBouncer drops them if told to, most other poolers in any case. */
const ignored = [...limits, `${serviceName}.session`].join();

t.test('a process ends with one sentence when no setting names the pooler', { skip }, async t => {
  const direct = await createPostgres(t);
  for (const DATABASE_URL of [await startPgBouncer(t, direct), await startPgBouncer(t, direct, { ignored })])
    for (const script of ['src/main.ts', 'src/worker.ts']) {
      const service = spawnService(t, { DATABASE_URL }, script);
      t.equal(await service.ended, 1);
      t.match(service.errors(), /^The database is behind a pooler .*: set DATABASE_POOLER=transaction\.\n$/);
      t.notMatch(JSON.stringify(service.lines), /"err"/);
    }
});

// Bug: a statement was sent behind another on the same connection. PgBouncer gives the session away after the first
// one, and the second was never answered.
t.test('two statements at once are both answered', { skip }, async t => {
  const client = clientOf(await startPgBouncer(t, await createPostgres(t, { empty: true })));
  t.teardown(() => client.close());
  for (let n = 0; n < 300; n++) {
    const both = Promise.all([client.sql.unsafe('select 1'), client.sql.unsafe('select $1::int as n', [n])]);
    const answers = await Promise.race([both, sleep(10_000, undefined, { ref: false })]);
    if (!t.same(answers?.[1], [{ n }])) return;
  }
});

/** The timeouts of the sessions in which the service writes. */
async function limitsOf(url: string) {
  const client = clientOf(url, url.endsWith('/pooled'));
  const rows =
    await client.sql`select name, setting from pg_settings where name = any(${limits}) order by name`;
  await client.close();
  t.equal(rows.length, 5);
  return [...rows];
}

function clientOf(url: string, pooled = true) {
  const settings = readSettings({ NODE_ENV: 'test' });
  const times = { statementTimeout: statementTimeout(settings), lockTimeout: 50 };
  return connectTo({ url, connections: 1, pooled, ...times });
}
