import type { Settings } from '../../../schemas/settings.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { checkPort } from '../../../src/process/ports.ts';
import { type Deployment, type Finding, type Findings, ok, problem } from './finding.ts';

/** The ports of the settings: free, or served by this service already. */
export async function* checkPorts({ settings }: Deployment): Findings {
  const { PORT, METRICS_PORT } = settings;
  yield await check('PORT', PORT, settings);
  if (METRICS_PORT !== undefined) yield await check('METRICS_PORT', METRICS_PORT, settings);
}

async function check(name: string, port: number, { HOST }: Settings): Promise<Finding> {
  try {
    await checkPort(name, port, HOST);
    return ok(`${name}=${port} is free.`);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return (await isServed(HOST, port))
      ? ok(`${name}=${port} is served by this service already.`)
      : problem(error.message);
  }
}

/** A server says who it is at `/`; its port for metrics has them. */
async function isServed(host: string, port: number): Promise<boolean> {
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const origin = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
  const read = (path: string) =>
    fetch(origin + path, { signal: AbortSignal.timeout(2000) })
      .then(answer => answer.text())
      .catch(() => '');
  return (
    (await read('/')).includes('"name":"triport"') || (await read('/metrics')).includes('webhook_events')
  );
}
