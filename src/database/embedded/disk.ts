import { statfs } from 'node:fs/promises';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { watchService } from '../../core/watch.ts';

/** Four segments of Postgres' log. Without space for the next one, the whole process stops. */
export const reserve = 64 * 1024 * 1024;

/** Watches the disk of a folder, so that requests are refused before it is full. Fails if it already is. */
export async function watchDisk(folder: string, log: Log) {
  const check = async () => {
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize <= reserve)
      throw new OperatorError(`The disk of ${folder} is full: embedded Postgres needs 64 MiB of free space.`);
  };
  await check();
  const away = `The disk of ${folder} is full or cannot be read: requests are refused until there is space.`;
  const back = `The disk of ${folder} has space again.`;
  return watchService({ check, every: 1000, log, away, back });
}
