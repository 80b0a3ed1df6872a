// runs: long
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { main as backup } from '#scripts/backup.ts';
import { main as restore } from '#scripts/restore.ts';
import { run as runInside } from '#test/helper/command.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { call, makeFolder, startService } from '#test/rig/process.ts';
import { contentsOf, fill, skip, startInstalled } from './contents.ts';

/** Runs a command in this environment and returns its exit code and its output. */
async function run(command: keyof typeof mains, args: string[], env: Record<string, string>) {
  const { code, out, err } = await runInside(mains[command], args, { PATH: process.env.PATH ?? '', ...env });
  return { code, output: out + err };
}
const mains = { backup, restore };

t.test('an embedded database is restored into an empty folder', async t => {
  const [from, to] = [{ DATA_DIR: makeFolder(t) }, { DATA_DIR: makeFolder(t) }];
  const file = join(makeFolder(t), 'backup.tgz');
  t.match(await run('backup', [file], from), { code: 1, output: /There is no database in/ });
  const service = await fill(t, from);
  t.match(await run('backup', [file], from), { code: 1, output: /Another process uses the data folder/ });
  t.notOk(existsSync(file));
  t.equal(await service.kill('SIGTERM'), 0);

  t.match(await run('backup', [file], from), { code: 0 });
  t.match(await run('backup', [file], from), { code: 1, output: /already exists/ });
  t.match(await run('restore', [file], to), { code: 0 });
  t.same(await contentsOf(t, to), await contentsOf(t, from));
  t.match(await run('restore', [file], to), { code: 1, output: /There is already a database in/ });

  const again = await startService(t, to);
  t.match(await call(again, 'GET', '/api/users?limit=1'), { status: 200, body: { meta: { total: 30 } } });
});

t.test('a broken backup is refused, and leaves nothing that looks like a database', async t => {
  const file = join(makeFolder(t), 'broken.tgz');
  writeFileSync(file, 'not a backup');
  const folder = makeFolder(t);
  t.match(await run('restore', [file], { DATA_DIR: folder }), { code: 1, output: /is not a backup/ });
  writeFileSync(file, Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(1000)]));
  t.match(await run('restore', [file], { DATA_DIR: folder }), {
    code: 1,
    output: /^\S+ is damaged: [^\n]+\.\n?$/,
  });
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

t.test('a PostgreSQL database is restored into an empty one, with its counts', { skip }, async t => {
  const [from, to] = [await startInstalled(t), await startInstalled(t)];
  const file = join(makeFolder(t), 'backup.dump');
  const service = await fill(t, from);
  await service.kill('SIGTERM');
  await queryPostgres(from.DATABASE_URL, 'select list_fold(10000)');
  await queryPostgres(from.DATABASE_URL, addUsers('before', 3));
  const contents = await contentsOf(t, from);
  t.match(await run('backup', [file], from), { code: 0 });
  const cut = join(makeFolder(t), 'cut.dump');
  writeFileSync(cut, readFileSync(file).subarray(0, -100));
  t.match(await run('restore', [cut], to), { code: 1, output: /end of file\npg_restore exited with 1\./ });
  t.match(await run('restore', [file], to), { code: 0 }, 'nothing was left of the one that is cut off');
  t.same(await contentsOf(t, to), contents);
  t.match(await run('restore', [file], to), { code: 1, output: /not empty: it has the table/ });

  // The totals count changes that were not folded when the backup was made.
  const totals = `select total::int from list_position('users', 0, false)`;
  t.same(await queryPostgres(to.DATABASE_URL, totals), [{ total: 33 }]);
  await queryPostgres(to.DATABASE_URL, addUsers('after', 5));
  t.same(await queryPostgres(to.DATABASE_URL, totals), [{ total: 38 }]);
  await queryPostgres(to.DATABASE_URL, 'select list_fold(10000)');
  t.same(await queryPostgres(to.DATABASE_URL, totals), [{ total: 38 }]);
});

const addUsers = (name: string, count: number) => `insert into users (id, name, email, created_at, updated_at)
  select gen_random_uuid(), 'x', '${name}' || n, now(), now() from generate_series(1, ${count}) as n`;
