import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Once the process is ending, every response asks its client to close the connection. */
export function closeConnectionsAfterAnswers(server: Server, ending: { readonly begun: boolean }): void {
  server.prependListener('request', (_request, response) => {
    if (ending.begun) response.setHeader('connection', 'close');
  });
}

/** Waits briefly for clients to leave, then closes idle connections: at once, requests on their way would be lost. */
export async function letClientsLeave(server: Server): Promise<void> {
  const connections = promisify(server.getConnections.bind(server));
  for (const end = Date.now() + 500; Date.now() < end && (await connections()) > 0; ) await sleep(20);
  setInterval(() => server.closeIdleConnections(), 100);
}
