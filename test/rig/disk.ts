import { spawnSync } from 'node:child_process';
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { makeFolder } from './process.ts';

/** Mounts a small disk; undefined if this user may not. */
export function makeDisk(t: Test, size: string): string | undefined {
  const folder = makeFolder(t);
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]);
  if (status !== 0) return undefined;
  t.teardown(() => void spawnSync('umount', ['--lazy', folder]));
  return folder;
}

/** Fills the disk except for `left` MiB. */
export function fill(disk: string, left: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'filling'), Buffer.alloc(bavail * bsize - left * 1024 * 1024));
}
