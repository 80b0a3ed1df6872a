import { statfs } from 'node:fs/promises';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';

/** Four segments of Postgres' log. Without space for the next one, the whole process stops. */
export const reserve = 64 * 1024 * 1024;
const checkEvery = 1000;

/** Watches the disk of a folder, so that requests are refused before it is full. */
export async function watchDisk(folder: string, log: Log) {
  const check = async () => {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize > reserve;
  };
  let hasSpace = await check();
  if (!hasSpace)
    throw new OperatorError(`The disk of ${folder} is full: embedded Postgres needs 64 MiB of free space.`);
  const timer = setInterval(async () => {
    const before = hasSpace;
    hasSpace = await check().catch(() => before);
    if (before && !hasSpace)
      log.error(`The disk of ${folder} is full: requests are refused until there is space.`);
    if (!before && hasSpace) log.info(`The disk of ${folder} has space again.`);
  }, checkEvery).unref();
  return { hasSpace: () => hasSpace, stop: () => clearInterval(timer) };
}
