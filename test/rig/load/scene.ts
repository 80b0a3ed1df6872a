import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '#src/core/errors.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { answers, Part } from '#test/rig/cluster/part.ts';
import { LocalPostgres } from '#test/rig/cluster/postgres.ts';
import { runCommand } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';
import { makeTablesAt } from '#test/world/tables.ts';
import { rows } from './data.ts';
import { honestClients, secret } from './honest.ts';
import { kinds } from './kinds/all.ts';
import { limitMemory } from './memory.ts';

export type Scene = Awaited<ReturnType<typeof openScene>>;

/** Opens a database with many rows, keys for all clients, and a function that starts a checkout's service on it. */
export async function openScene(checkout: string) {
  const folder = mkdtempSync(join(tmpdir(), 'triport-load-'));
  chmodSync(folder, 0o755);
  const postgres = new LocalPostgres('postgres', folder, await freePort());
  const limit = limitMemory(`triport-load-${process.pid}`);
  const remove = () => {
    rmSync(folder, { recursive: true, force: true });
    limit.remove();
  };
  process.once('exit', remove);
  await postgres.create();
  await makeTablesAt(postgres.url);
  const env = { DATABASE_URL: postgres.url, NODE_COMPILE_CACHE: join(folder, 'compiled') };
  let service: Part | undefined;
  /** Starts the service anew, so that its memory is that of one kind. */
  async function start() {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const webhooks = { WEBHOOK_SECRETS: JSON.stringify({ stripe: [secret] }) };
    const server = new Part({
      name: 'the service',
      ...limit.run([
        process.execPath,
        '--disable-warning=ExperimentalWarning',
        ...['--import', join(checkout, 'test/world/register.ts')],
        join(checkout, 'src/main.ts'),
      ]),
      env: { ...env, ...limit.env, ...webhooks, AUTH_MODE: 'required', PORT: String(port) },
      log: join(folder, 'service.log'),
      ready: () => answers(`${url}/health/ready`),
    });
    service = server;
    await server.start();
    return { server, port, url };
  }
  const { keys, position } = await prepare(checkout, env, await start(), postgres);
  return {
    postgres,
    start,
    keys,
    position,
    close: async () => {
      await service?.stop('SIGKILL');
      await postgres.stop();
      process.off('exit', remove);
      remove();
    },
  };
}

type Started = Awaited<ReturnType<Scene['start']>>;

/** Makes a key for each client, remembers where the changes begin, and fills the tables. */
async function prepare(
  checkout: string,
  env: Record<string, string>,
  { server, url }: Started,
  postgres: LocalPostgres,
) {
  const args = ['create', '--name', 'load', '--scopes', 'admin'];
  const { out, err } = await runCommand(join(checkout, 'scripts/keys.ts'), args, env);
  const headers = { authorization: `Bearer ${out.trim()}` };
  const makeKey = async (name: string): Promise<string> => {
    const { body } = await ask(`${url}/api/keys`, json({ name, scopes: ['write'] }, headers));
    if (!body?.key) throw new OperatorError(`There is no key: ${err}`);
    return body.key;
  };
  const names = [...honestClients.map(({ name }) => name), ...kinds.map(({ name }) => name)];
  const keys = new Map<string, string>();
  for (const name of names) keys.set(name, await makeKey(name));
  const stream = await fetch(`${url}/api/changes`, { headers });
  const { value } = (await stream.body?.getReader().read()) ?? {};
  const [, position = ''] = /^id: (.+)$/m.exec(Buffer.from(value ?? []).toString()) ?? [];
  await server.stop('SIGKILL');
  await postgres.query(rows);
  return { keys, position };
}
