import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPort } from '#src/process/ports.ts';

/** Ports below those that the system gives to clients: a connection could take one of those before it is used. */
const [lowest, highest] = [12_000, 32_000];

/** Returns a free port. Nobody else gets it while this process runs, whether anything listens on it or not. */
export async function freePort(): Promise<number> {
  const port = lowest + Math.floor(Math.random() * (highest - lowest));
  const isFree = () =>
    checkPort('port', port, '127.0.0.1').then(
      () => true,
      () => false,
    );
  return reserve(port) && (await isFree()) ? port : freePort();
}

export const freePorts = (count: number) => Promise.all(Array.from({ length: count }, freePort));

const reservations: string[] = [];
process.on('exit', () => reservations.forEach(file => void rmSync(file, { force: true })));

/** Reserves a port by a file, because tests run in several processes. */
function reserve(port: number): boolean {
  const file = join(tmpdir(), `triport-port-${port}`);
  try {
    writeFileSync(file, '', { flag: 'wx' });
  } catch {
    return false;
  }
  reservations.push(file);
  return true;
}
