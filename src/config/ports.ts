import { once } from 'node:events';
import { createServer } from 'node:net';
import { OperatorError } from '../core/operatorErrors.ts';

/**
 * Refuses a port that nobody can listen on. Called before the database is opened, because a start that is going to
 * fail must not make a database first. The port is free again afterwards.
 */
export async function checkPort(name: string, port: number | undefined, host: string): Promise<void> {
  if (port === undefined || port === 0) return;
  const probe = createServer().listen(port, host);
  try {
    await once(probe, 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      code === 'EADDRINUSE'
        ? `${name}=${port} is in use: stop the other process, or set another ${name}.`
        : `${name}=${port} with HOST=${host} cannot be listened on: ${message}.`,
    );
  }
  probe.close();
  await once(probe, 'close');
}
