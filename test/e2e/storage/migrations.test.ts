import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import t from 'tap';
import { readMigrationFiles } from '../../../drizzle/orm.ts';
import { lowestId } from '../../../src/core/ids.ts';
import { createPostgres } from '../../helper/database.ts';
import { call, makeFolder, spawnService, startService, until } from '../../rig/process.ts';
import { queryPostgres } from '../../rig/servers/postgresServer.ts';

t.setTimeout(180_000);

t.test('two instances started at once on an empty database both become ready and migrate once', async t => {
  const DATABASE_URL = await createPostgres(t, { empty: true });
  const both = await Promise.all([startService(t, { DATABASE_URL }), startService(t, { DATABASE_URL })]);

  const [first, second] = both as [(typeof both)[0], (typeof both)[0]];
  const created = await call(first, 'POST', '/api/users', { name: 'Ada', email: 'ada@example.com' });
  t.equal((await call(second, 'GET', `/api/users/${created.body.id}`)).status, 200);

  const files = JSON.parse(
    readFileSync(new URL('../../../drizzle/migrations/meta/_journal.json', import.meta.url), 'utf8'),
  ).entries.length;
  const ran = await queryPostgres(
    DATABASE_URL,
    'select count(*)::int as n from drizzle.__drizzle_migrations',
  );
  t.same(ran, [{ n: files }]);
});

/** The statements of the migrations up to one, as the release that ended with it has run them. */
async function migrateUntil(url: string, name: string) {
  const journal = new URL('../../../drizzle/migrations/meta/_journal.json', import.meta.url);
  const entries: { tag: string }[] = JSON.parse(readFileSync(journal, 'utf8')).entries;
  const last = entries.findIndex(({ tag }) => tag === name);
  const migrationsFolder = fileURLToPath(new URL('../../../drizzle/migrations', import.meta.url));
  const done = readMigrationFiles({ migrationsFolder }).slice(0, last + 1);
  const times = done.map(({ folderMillis }) => `('', ${folderMillis})`);
  const table = 'drizzle.__drizzle_migrations';
  for (const text of [
    ...done.flatMap(({ sql }) => sql),
    `create schema drizzle; create table ${table} (id serial primary key, hash text not null, created_at bigint)`,
    `insert into ${table} (hash, created_at) values ${times}`,
  ])
    await queryPostgres(url, text);
}

t.test('a cancellation from before subscriptions could end ends none that was paid after it', async t => {
  const DATABASE_URL = await createPostgres(t, { empty: true });
  await migrateUntil(DATABASE_URL, '0004_safe_writes');
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
  const customers = ['gone', 'returned'];
  const events = [
    ...customers.map(customer => ['payment_intent.succeeded', 'processed', customer, 9] as const),
    ...customers.map(customer => ['customer.subscription.deleted', 'ignored', customer, 5] as const),
    // It was active already, so the release of then changed nothing.
    ['payment_intent.succeeded', 'processed', 'returned', 1] as const,
  ].map(([type, status, customer, days], n) => {
    const [id, at] = [lowestId(daysAgo(days)).slice(0, -1) + n, `'${daysAgo(days).toISOString()}'`];
    return `('${id}', 'stripe', sha256('${n}'), '${type}', '${status}', '${customer}', '{}', ${at}, ${at})`;
  });
  const columns = 'id, provider, fingerprint, type, status, customer, body, created_at, updated_at';
  await queryPostgres(DATABASE_URL, `insert into webhook_events (${columns}) values ${events}`);
  await queryPostgres(
    DATABASE_URL,
    `insert into subscriptions (id, customer, provider, status, activated_at, created_at, updated_at)
      select gen_random_uuid(), customer, 'stripe', 'active', at, at, at
      from unnest('{${customers}}'::text[]) as customer, (values (now() - interval '9 days')) as first (at)`,
  );

  const service = await startService(t, { DATABASE_URL });
  const body = { status: 'ignored' };
  t.match(await call(service, 'POST', '/api/webhook-events/replay', body), { body: { replayed: 2 } });
  const read = async (path: string) => (await call(service, 'GET', path)).body;
  await until('both are processed', async () => {
    const { data } = await read('/api/webhook-events?type=customer.subscription.deleted');
    return data.every(({ status }: { status: string }) => status === 'processed');
  });
  t.match(await read('/api/subscriptions/gone'), { status: 'canceled' });
  t.match(await read('/api/subscriptions/returned'), { status: 'active' });
});

t.test('servers of the release before count repeated deliveries after the migrations', async t => {
  const DATABASE_URL = await createPostgres(t, { empty: true });
  await migrateUntil(DATABASE_URL, '0005_subscription_life');
  await queryPostgres(
    DATABASE_URL,
    `insert into webhook_events (id, provider, fingerprint, status, body, created_at, updated_at)
      values ('01a20855-68d6-7000-b3c2-5e92b7ed2c1b', 'stripe', sha256('1'), 'processed', '{}', now(), now())`,
  );
  await startService(t, { DATABASE_URL });
  // What they run for a repeated delivery, and for a page of events: 0006 keeps the table for them.
  await queryPostgres(
    DATABASE_URL,
    `insert into webhook_repeats values ('01a20855-68d6-7000-b3c2-5e92b7ed2c1b', 1)
      on conflict (event) do update set repeats = webhook_repeats.repeats + excluded.repeats`,
  );
});

t.test('the service refuses to start on Postgres with an unpatched driver', async t => {
  const folder = makeFolder(t);
  const driver = join(folder, 'postgres');
  cpSync(fileURLToPath(new URL('../../../node_modules/postgres', import.meta.url)), driver, {
    recursive: true,
  });
  const index = join(driver, 'src', 'index.js');
  writeFileSync(index, readFileSync(index, 'utf8').replace(/patch: 'triport-\d+',/, ''));
  const hook = join(folder, 'hook.mjs');
  writeFileSync(
    hook,
    `import { registerHooks } from 'node:module';
     registerHooks({ resolve: (name, context, next) => name === 'postgres'
       ? { url: ${JSON.stringify(pathToFileURL(index).href)}, shortCircuit: true } : next(name, context) });`,
  );
  const service = spawnService(t, { DATABASE_URL: await createPostgres(t) }, ['--import', hook]);
  t.equal(await service.ended, 1);
  t.match(service.errors(), /The postgres driver is not patched: run `npx patch-package`/);
});
