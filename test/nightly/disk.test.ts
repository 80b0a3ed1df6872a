import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { call, makeFolder, spawnService, startService, until } from '#test/rig/process.ts';

t.test('a full disk: writes are refused, nothing is lost, and freeing space ends the outage', async t => {
  const disk = makeFolder(t);
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', disk]);
  if (status !== 0) return t.pass('skipped: mounting a disk needs root');
  t.teardown(() => void spawnSync('umount', ['--lazy', disk]));
  const env = { DATA_DIR: join(disk, 'data') };
  const service = await startService(t, env);
  const create = (i: number) =>
    call(service, 'POST', '/api/users', { name: 'A', email: `user${i}@example.com` });

  let created = 0;
  let refused = 0;
  const write = async (i: number) => {
    const { status, body } = await create(i);
    if (status === 201) created++;
    else if (status === 503) refused++;
    else throw new Error(`${status} ${JSON.stringify(body)}`);
  };
  for (let i = 0; i < 5; i++) await write(i);
  t.equal(created, 5);
  const { bavail, bsize } = statfsSync(disk);
  const left = 40 * 1024 * 1024;
  writeFileSync(join(disk, 'filling'), Buffer.alloc(bavail * bsize - left));
  for (let i = created; refused < 20; i++) await write(i);
  t.equal((await call(service, 'GET', '/health/ready')).status, 503);
  t.equal((await call(service, 'GET', '/health/live')).status, 200);
  const other = spawnService(t, { DATA_DIR: join(disk, 'other') });
  t.not(await other.ended, 0);
  t.match(other.errors(), /The disk of .* is full/);

  rmSync(join(disk, 'filling'));
  await until('writes succeed again', async () => (await create(-1)).status === 201);
  const { body } = await call(service, 'GET', '/api/users?limit=1');
  t.equal(body.meta.total, created + 1);
  t.equal(service.lines.filter(({ msg }) => /The disk of .* is full/.test(msg)).length, 1);
});
