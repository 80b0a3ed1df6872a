import { once } from 'node:events';
import { createServer } from 'node:net';
import { OperatorError } from '#src/core/errors.ts';

/** Refuses a port that is not free, before a start that must fail creates a database. */
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
        : `Cannot listen on ${name}=${port} with HOST=${host}: ${message}.`,
    );
  }
  probe.close();
  await once(probe, 'close');
}
