import { accessSync, constants, existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { reserve } from '../../../src/database/embedded/disk.ts';
import { isOwned } from '../../../src/database/embedded/folder.ts';
import { type Deployment, type Findings, ok, problem, warning } from './finding.ts';

const enough = 1024 ** 3;

/** The folder of the embedded database; it is not opened, because a service may use it. */
export async function* checkEmbedded({ settings }: Deployment): Findings {
  const { DATABASE_URL, DATA_DIR: folder, NODE_ENV } = settings;
  if (DATABASE_URL !== undefined) return;
  if (NODE_ENV === 'production')
    yield warning(
      'The database is embedded: it belongs to one process on one machine. For more, set DATABASE_URL to a PostgreSQL server.',
    );
  const existing = firstThatExists(resolve(folder));
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
  } catch {
    yield problem(
      `DATA_DIR=${folder} cannot be written by this user. Change its owner, or set another DATA_DIR.`,
    );
    return;
  }
  if (!existsSync(join(folder, 'postgres')))
    yield ok(`DATA_DIR=${folder} has no database yet: the first start makes it.`);
  else if (isOwned(folder)) yield ok(`The database in DATA_DIR=${folder} is in use by a running service.`);
  else yield ok(`The database in DATA_DIR=${folder} is in use by nobody.`);
  yield await checkSpace(existing, folder);
}

/** DATA_DIR, or the folder in which the first start creates it. */
const firstThatExists = (path: string): string => (existsSync(path) ? path : firstThatExists(dirname(path)));

async function checkSpace(existing: string, folder: string) {
  const { bavail, bsize } = await statfs(existing);
  const free = bavail * bsize;
  const text = `The disk of DATA_DIR=${folder} has ${(free / 1024 ** 2).toLocaleString('en', { maximumFractionDigits: 0 })} MiB of free space`;
  if (free <= reserve)
    return problem(`${text}, and the service starts with more than ${reserve / 1024 ** 2} MiB. Make room.`);
  return free < enough ? warning(`${text}. Make room before it is full.`) : ok(`${text}.`);
}
