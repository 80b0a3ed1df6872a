import { existsSync } from 'node:fs';
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
} from '../../rig/process.ts';

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
    // From the first file to just before the end.
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
