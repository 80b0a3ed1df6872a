import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Part } from '#test/rig/cluster/part.ts';
import { answersQueries, owner } from '#test/rig/cluster/postgres.ts';
import { has } from '#test/rig/openCluster.ts';
import { makeFolder } from '#test/rig/process.ts';
import { freePort } from './ports.ts';

export const hasPgBouncer = has('pgbouncer');
export const sessions = 3;

/** The timeouts of docs/running-many.md; without a pooler the service sets them itself. */
export const [connectQuery = ''] =
  /connect_query='[^']+'/.exec(readFileSync('docs/running-many.md', 'utf8')) ?? [];

/** Starts a PgBouncer in transaction mode in front of a database. */
export async function startPgBouncer(
  t: Test,
  databaseUrl: string,
  { query = connectQuery, ignored = '' } = {},
): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const folder = makeFolder(t);
  const [listen, file] = [await freePort(), join(folder, 'pgbouncer.ini')];
  writeFileSync(
    file,
    `[databases]
pooled = host=${hostname} port=${port} user=${username} password=${password} dbname=${pathname.slice(1)} ${query}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
ignore_startup_parameters = ${ignored}
default_pool_size = ${sessions}
max_client_conn = 500
`,
  );
  chmodSync(file, 0o644);
  const url = `postgres://triport@127.0.0.1:${listen}/pooled`;
  const pooler = new Part({
    name: 'pgbouncer',
    command: 'pgbouncer',
    args: [file],
    log: join(folder, 'log'),
    ready: () => answersQueries(url),
    owner,
  });
  t.teardown(() => pooler.stop('SIGKILL'));
  await pooler.start();
  return url;
}
