import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { call, makeFolder, spawnService, startService, until } from '../../rig/process.ts';

/** A small disk of its own; undefined where this user may not make one. */
function makeDisk(t: Test, size: string): string | undefined {
  const folder = makeFolder(t);
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]);
  if (status !== 0) return undefined;
  t.teardown(() => void spawnSync('umount', ['--lazy', folder]));
  return folder;
}

/** Takes all room but so many MiB. */
function fill(disk: string, left: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'filling'), Buffer.alloc(bavail * bsize - left * 1024 * 1024));
}

t.test('a full disk: requests are refused, nothing is lost, and it goes on when there is room', async t => {
  const disk = makeDisk(t, '200m');
  if (disk === undefined) return t.pass('only who may mount a disk can try this');
  const env = { DATA_DIR: join(disk, 'data') };
  const service = await startService(t, env);
  const create = (i: number) =>
    call(service, 'POST', '/api/users', { name: 'A', email: `user${i}@example.com` });

  let created = 0;
  let full = false;
  let after = 0;
  const writing = (async () => {
    for (let i = 0; after < 20; i++) {
      const { status, body } = await create(i);
      if (status === 201) created++;
      else if (!full || status !== 503) throw new Error(`${status} ${JSON.stringify(body)}`);
      else after++;
    }
  })();
  full = true;
  fill(disk, 40);
  await writing;
  t.ok(created > 0);
  t.equal((await call(service, 'GET', '/health/ready')).status, 503);
  t.equal((await call(service, 'GET', '/health/live')).status, 200);
  const other = spawnService(t, { DATA_DIR: join(disk, 'other') });
  t.not(await other.ended, 0);
  t.match(other.errors(), /The disk of .* is full/);

  rmSync(join(disk, 'filling'));
  await until('there is room again', async () => (await create(-1)).status === 201);
  const { body } = await call(service, 'GET', '/api/users?limit=1');
  t.equal(body.meta.total, created + 1);
  t.equal(service.lines.filter(({ msg }) => /The disk of .* is full/.test(msg)).length, 1);
});
