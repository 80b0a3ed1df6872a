// runs: long
import { chmodSync, existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  call,
  makeDataFolder,
  makeFolder,
  type Service,
  spawnService,
  startService,
  until,
} from '#test/rig/process.ts';

t.test('a data folder has one process: a second one is refused, with the reason', async t => {
  const DATA_DIR = makeDataFolder(t);
  const first = await startService(t, { DATA_DIR });
  const second = spawnService(t, { DATA_DIR });
  t.equal(await second.ended, 1);
  t.match(second.errors(), /Another process uses the data folder .*Stop it, or set DATA_DIR or DATABASE_URL/);
  t.notMatch(second.errors(), /\n\s+at /, 'without a stack');
  t.equal((await call(first, 'GET', '/api/users')).status, 200);
});

t.test('of two processes started at once on an empty folder one serves and one is refused', async t => {
  const DATA_DIR = makeFolder(t);
  const both = [spawnService(t, { DATA_DIR }), spawnService(t, { DATA_DIR })];
  t.equal(await Promise.race(both.map(service => service.ended)), 1);
  await until('the other one listens', () => both.some(service => service.port > 0));
  const winner = both.find(service => service.port > 0) as Service;
  t.equal((await call(winner, 'GET', '/api/users')).status, 200);
});

t.test('a process killed while it creates the database does not block the next start', async t => {
  const DATA_DIR = makeFolder(t);
  const moments = [
    // The moments go from the first file to just before the end.
    () => until('the folder exists', () => existsSync(join(DATA_DIR, 'postgres.unfinished'))),
    () => until('it has files', () => existsSync(join(DATA_DIR, 'postgres.unfinished', 'PG_VERSION'))),
    () => until('it has its final name', () => existsSync(join(DATA_DIR, 'postgres'))),
  ];
  for (const moment of moments) {
    const killed = spawnService(t, { DATA_DIR });
    await moment();
    t.equal(await killed.kill(), 'SIGKILL');
    t.equal(killed.port, 0, 'it was not serving yet');
  }
  const service = await startService(t, { DATA_DIR });
  t.equal((await call(service, 'POST', '/api/users', { name: 'Ada', email: 'ada@example.com' })).status, 201);
});

t.test('bug: everybody could read and write the files of the database, whatever the umask', async t => {
  const parent = join(makeFolder(t), 'made');
  const DATA_DIR = join(parent, 'data');
  const pathsOf = () => ['', ...(readdirSync(DATA_DIR, { recursive: true }) as string[])];
  const find = (path: string) => lstatSync(join(DATA_DIR, path), { throwIfNoEntry: false });
  /** Returns the paths with other rights than 0700 and 0600. */
  const open = () =>
    pathsOf().filter(path => {
      const found = find(path);
      return found && (found.mode & 0o777) !== (found.isDirectory() ? 0o700 : 0o600);
    });
  /** Starts the service with a umask that hides nothing, and writes. */
  const start = async () => {
    const umask = process.umask(0);
    const service = spawnService(t, { DATA_DIR });
    process.umask(umask);
    if (!existsSync(DATA_DIR)) {
      await until('the database is made', () => find('postgres.unfinished') !== undefined);
      t.equal((find('postgres.unfinished')?.mode ?? 0) & 0o777, 0o700, 'also while it is made');
    }
    await until('the service listens', () => service.port > 0);
    const user = { name: 'Ada', email: `ada.${service.port}@example.com` };
    t.equal((await call(service, 'POST', '/api/users', user)).status, 201);
    return service;
  };

  const first = await start();
  const paths = pathsOf();
  t.ok(paths.length > 900 && paths.includes('webhook-secrets.json') && paths.includes('owner.lock'));
  t.same(open(), []);
  t.equal(lstatSync(parent).mode & 0o777, 0o700);
  t.equal(await first.kill('SIGTERM'), 0);
  t.same(open(), [], 'and what it wrote at its end');

  // Earlier releases left files with these rights.
  for (const path of pathsOf().filter(path => path !== 'webhook-secrets.json'))
    chmodSync(join(DATA_DIR, path), find(path)?.isDirectory() ? 0o755 : 0o666);
  await start();
  t.same(open(), [''], 'a folder that was there stays as it is, because it may hold more');
});
