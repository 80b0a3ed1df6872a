import { spawnSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { sql } from '../../../drizzle/orm.ts';
import { main as backup } from '../../../scripts/backup.ts';
import { main as restore } from '../../../scripts/restore.ts';
import { main as seed } from '../../../scripts/seed.ts';
import { readSettings } from '../../../src/config/settings.ts';
import type { Connection } from '../../../src/database/connection.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { run as runInside } from '../../helper/command.ts';
import { select, testLog } from '../../helper/database.ts';
import { PostgresNode } from '../../rig/cluster/postgres.ts';
import { ofKind } from '../../rig/deploy/manifests.ts';
import { createServingRole } from '../../rig/deploy/servingRole.ts';
import { folderOf } from '../../rig/openCluster.ts';
import { call, makeFolder, runCommand, startService, until } from '../../rig/process.ts';
import { pay, secrets } from '../../rig/sender.ts';
import { freePort } from '../../rig/servers/ports.ts';
import { queryPostgres } from '../../rig/servers/postgresServer.ts';

t.setTimeout(240_000);

/** Runs a command in this environment and returns its exit code and its output. */
async function run(command: keyof typeof mains, args: string[], env: Record<string, string>) {
  const { code, out, err } = await runInside(mains[command], args, { PATH: process.env.PATH ?? '', ...env });
  return { code, output: out + err };
}
const mains = { backup, restore, seed };

/** Adds rows to every table that requests write to. */
async function fill(t: Test, env: Record<string, string>) {
  const service = await startService(t, { ...env, WEBHOOK_SECRETS: secrets });
  for (let i = 0; i < 30; i++) {
    const user = { name: `Ädä ${i} 🌍`, email: `${i}@example.com` };
    const { body } = await call(service, 'POST', '/api/users', user);
    await call(service, 'POST', '/api/posts', { title: `Notes ${i}`, authorId: body.id });
  }
  for (let i = 0; i < 5; i++) await pay(service.url, `evt_${i}`, `cus_${i}`);
  await call(service, 'POST', '/api/keys', { name: 'kept', scopes: ['read'] });
  await until('the events are processed', async () => {
    const { body } = await call(service, 'GET', '/api/webhook-events?status=processed');
    return body.data.length === 5;
  });
  return service;
}

type Contents = Record<string, string[]>;

/** Every row of every table, as text. */
async function contentsOf(t: Test, env: Record<string, string>): Promise<Contents> {
  const database = await openDatabase({ ...readSettings({}), ...env }, testLog);
  await database.ready;
  const contents: Contents = {};
  for (const name of await tablesOf(database.writes)) {
    const rows = await select(
      database.writes,
      sql.raw(`select to_jsonb(r)::text as row from ${name} as r order by 1`),
    );
    contents[name] = rows.map(({ row }) => row as string);
  }
  await database.close();
  t.ok(Object.keys(contents).length > 12, `${Object.keys(contents)}`);
  for (const name of [
    'users',
    'posts',
    'subscriptions',
    'webhook_events',
    'api_keys',
    'audit_log',
    'list_tables',
  ])
    t.ok(contents[`public.${name}`]?.length, `${name} has rows`);
  return contents;
}

async function tablesOf(db: Connection): Promise<string[]> {
  const rows = await select(
    db,
    sql`select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  return rows.map(({ name }) => String(name));
}

t.test('an embedded database is restored into an empty folder', async t => {
  const [from, to] = [{ DATA_DIR: makeFolder(t) }, { DATA_DIR: makeFolder(t) }];
  const file = join(makeFolder(t), 'backup.tgz');
  t.match(await run('backup', [file], from), { code: 1, output: /There is no database in/ });
  const service = await fill(t, from);
  t.match(await run('backup', [file], from), { code: 1, output: /Another process uses the data folder/ });
  t.notOk(existsSync(file));
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);

  t.match(await run('backup', [file], from), { code: 0 });
  t.match(await run('backup', [file], from), { code: 1, output: /already exists/ });
  t.match(await run('restore', [file], to), { code: 0 });
  t.same(await contentsOf(t, to), await contentsOf(t, from));
  t.match(await run('restore', [file], to), { code: 1, output: /There is already a database in/ });

  const again = await startService(t, to);
  t.match(await call(again, 'GET', '/api/posts?limit=1'), { status: 200, body: { meta: { total: 30 } } });
});

t.test('a broken backup is refused, and leaves nothing that looks like a database', async t => {
  const file = join(makeFolder(t), 'broken.tgz');
  writeFileSync(file, 'not a backup');
  const folder = makeFolder(t);
  t.match(await run('restore', [file], { DATA_DIR: folder }), { code: 1, output: /is not a backup/ });
  writeFileSync(file, Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(1000)]));
  // PGlite forgets a promise that fails, which ends the process.
  t.match(await runCommand('scripts/restore.ts', [file], { DATA_DIR: folder }), { code: 1 });
  t.notOk(existsSync(join(folder, 'postgres')));
});

t.test('a backup of the other kind of database is refused, and the error names the setting', async t => {
  const [file, folder] = [join(makeFolder(t), 'backup'), makeFolder(t)];
  t.match(await run('restore', [file], { DATA_DIR: folder }), { code: 1, output: /There is no file/ });
  writeFileSync(file, 'PGDMP');
  t.match(await run('restore', [file], { DATA_DIR: folder }), { code: 1, output: /Set DATABASE_URL/ });
  writeFileSync(file, Buffer.from([0x1f, 0x8b]));
  t.match(await run('restore', [file], { DATABASE_URL: process.env.TEST_POSTGRES_URL ?? '' }), {
    code: 1,
    output: /without DATABASE_URL/,
  });
});

t.test('without the PostgreSQL programs the commands say what is missing', async t => {
  const env = { DATABASE_URL: process.env.TEST_POSTGRES_URL ?? '', PATH: makeFolder(t) };
  t.match(await run('backup', [join(makeFolder(t), 'x')], env), {
    code: 1,
    output: /pg_dump is not on the PATH/,
  });
});

// pg_dump refuses a server newer than itself, so these tests start a server of the same release.
const initdb = join(folderOf('initdb') ?? '', 'initdb');
/** Where the PATH has a link to one program, the others are beside the program itself. */
const bin = existsSync(initdb) ? dirname(realpathSync(initdb)) : '';
const skip = !existsSync(join(bin, 'pg_dump')) && 'no folder on the PATH has initdb and pg_dump';

t.test('a PostgreSQL database is restored into an empty one', { skip }, async t => {
  const [from, to] = [await startInstalled(t), await startInstalled(t)];
  const file = join(makeFolder(t), 'backup.dump');
  const service = await fill(t, from);
  service.child.kill('SIGTERM');
  await service.ended;
  const contents = await contentsOf(t, from);
  t.match(await run('backup', [file], from), { code: 0 });
  t.match(await run('restore', [file], to), { code: 0 });
  t.same(await contentsOf(t, to), contents);
  t.match(await run('restore', [file], to), { code: 1, output: /not empty: it has the table/ });
});

t.test('after a restore the counts are right, with changes that were not folded', { skip }, async t => {
  const [from, to] = [await startInstalled(t), await startInstalled(t)];
  const file = join(makeFolder(t), 'backup.dump');
  t.match(await run('seed', ['--users', '300', '--posts', '3000'], from), { code: 0 });
  for (let i = 0; i < 3; i++) {
    await queryPostgres(from.DATABASE_URL, addUsers(`folded ${i}`, 1));
    await queryPostgres(from.DATABASE_URL, 'select list_fold(10000)');
  }
  await queryPostgres(from.DATABASE_URL, addUsers('before', 3));
  t.match(await run('backup', [file], from), { code: 0 });
  t.match(await run('restore', [file], to), { code: 0 });
  const totals = `select (select total from list_position('users', 0, false))::int as total, (select count(*) from users)::int as actual`;
  t.same(await queryPostgres(to.DATABASE_URL, totals), [{ total: 306, actual: 306 }]);
  await queryPostgres(to.DATABASE_URL, addUsers('after', 5));
  t.same(await queryPostgres(to.DATABASE_URL, totals), [{ total: 311, actual: 311 }]);
  await queryPostgres(to.DATABASE_URL, 'select list_fold(10000)');
  t.same(await queryPostgres(to.DATABASE_URL, totals), [{ total: 311, actual: 311 }]);
});

/** Runs the backup of deploy/ in a folder, with the command and the variables of its manifest. */
function runDump(folder: string, url: string, env: NodeJS.ProcessEnv) {
  const [{ command, env: given }] = ofKind('CronJob')[0].spec.jobTemplate.spec.template.spec.containers;
  const variables = given.map(({ name, value }: { name: string; value: string }) => [name, value]);
  const DATABASE_URL_FILE = join(folder, 'url');
  writeFileSync(DATABASE_URL_FILE, `${url}\n`);
  const args = command.map((each: string) => each.replace('/etc/triport', resolve('deploy/kubernetes')));
  const { status, stderr } = spawnSync(args[0], args.slice(1), {
    cwd: folder,
    env: { ...Object.fromEntries(variables), ...env, DATABASE_URL_FILE },
    encoding: 'utf8',
  });
  return { status, stderr, dumps: readdirSync(folder).filter(name => name.endsWith('.dump')) };
}

t.test(
  'a dump of deploy/ is restored into an empty database, which the serving role serves',
  { skip },
  async t => {
    const [{ DATABASE_URL: from, PATH }, { DATABASE_URL: to }] = [
      await startInstalled(t),
      await startInstalled(t),
    ];
    const service = await fill(t, { DATABASE_URL: from });
    service.child.kill('SIGTERM');
    await service.ended;
    const contents = await contentsOf(t, { DATABASE_URL: from });
    const folder = makeFolder(t);

    const dumped = runDump(folder, from, { PATH });
    const [dump = ''] = dumped.dumps;
    t.match(dumped, { status: 0, stderr: '', dumps: [/^triport-\d{4}-\d\d-\d\dT[\d-]+Z\.dump$/] });
    t.equal(statSync(join(folder, dump)).mode & 0o777, 0o600, 'only its owner may read it');

    await createServingRole(t, to, 'choose one');
    t.match(runDump(folder, to, { PATH, RESTORE: dump }), { status: 0, stderr: '' });
    t.same(await contentsOf(t, { DATABASE_URL: to }), contents);
    t.match(runDump(folder, to, { PATH, RESTORE: dump }), { status: 1, stderr: /already exists/ });
    const DATABASE_URL = to.replace('triport@', 'triport_service:choose%20one@');
    const restored = await startService(t, { DATABASE_URL });
    t.match(await call(restored, 'GET', '/api/posts'), { status: 200, body: { meta: { total: 30 } } });
    const ada = { name: 'Ada', email: 'ada@example.com' };
    t.equal((await call(restored, 'POST', '/api/users', ada)).status, 201);
  },
);

t.test('old dumps go only after a new one was read back', { skip }, async t => {
  const { DATABASE_URL: url, PATH = '' } = await startInstalled(t);
  await queryPostgres(url, 'create table notes as select md5(n::text) from generate_series(1, 1000) as n');
  const [folder, programs] = [makeFolder(t), makeFolder(t)];
  const old = 'triport-2020-01-01T02-17-00Z.dump';
  writeFileSync(join(folder, old), 'old');
  utimesSync(join(folder, old), 0, 0);
  // One whose dump is cut off, and whose list of contents is whole.
  const broken = `#!/bin/bash
    echo "$PGPASSWORD $1" > arguments
    ${join(bin, 'pg_dump')} "$@" && truncate --size=-100 unfinished.*`;
  writeFileSync(join(programs, 'pg_dump'), broken, { mode: 0o755 });
  const secret = url.replace('triport@', String.raw`triport:p@a\n%25@`);
  t.match(runDump(folder, secret, { PATH: `${programs}:${PATH}` }), { status: 1, stderr: /./, dumps: [old] });
  t.equal(readFileSync(join(folder, 'arguments'), 'utf8').trim(), String.raw`p@a\n% --dbname=${url}`);
  const { status, dumps } = runDump(folder, secret, { PATH });
  t.match({ status, dumps: dumps.length }, { status: 0, dumps: 1 });
  t.notOk(dumps.includes(old));
});

const addUsers = (name: string, count: number) => `insert into users (id, name, email, created_at, updated_at)
  select gen_random_uuid(), 'x', '${name}' || n, now(), now() from generate_series(1, ${count}) as n`;

/** Starts a server of the installed release, with an empty database. */
async function startInstalled(t: Test) {
  const [folder, port] = [join(makeFolder(t), 'data'), await freePort()];
  const server = new PostgresNode({
    name: 'installed',
    programs: bin,
    folder,
    port,
    settings: 'fsync = off',
  });
  t.teardown(() => server.stop('SIGINT'));
  await server.create();
  return {
    DATABASE_URL: `postgres://triport@127.0.0.1:${port}/postgres`,
    PATH: `${bin}:${process.env.PATH}`,
  };
}
