import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { sql } from '#drizzle/orm.ts';
import { readSettings } from '#src/config/settings.ts';
import type { Connection } from '#src/database/connection.ts';
import { openDatabase } from '#src/database/open.ts';
import { select, testLog } from '#test/helper/database.ts';
import { PostgresNode } from '#test/rig/cluster/postgres.ts';
import { folderOf } from '#test/rig/openCluster.ts';
import { call, makeFolder, startService, until } from '#test/rig/process.ts';
import { pay, secrets } from '#test/rig/sender.ts';
import { freePort } from '#test/rig/servers/ports.ts';

/** Adds rows to every table that requests write to. */
export async function fill(t: Test, env: Record<string, string>) {
  const service = await startService(t, { ...env, WEBHOOK_SECRETS: secrets });
  let id = '';
  for (let i = 0; i < 30; i++) {
    const user = { name: `Ädä ${i} 🌍`, email: `${i}@example.com` };
    const { body } = await call(service, 'POST', '/api/users', user);
    id = body.id;
  }
  await call(service, 'POST', `/api/users/${id}/identities`, { issuer: 'https://a.example', subject: 'ä' });
  for (let i = 0; i < 5; i++) await pay(service.url, `evt_${i}`, `cus_${i}`);
  await call(service, 'POST', '/api/keys', { name: 'kept', scopes: ['read'] });
  await until('the events are processed', async () => {
    const { body } = await call(service, 'GET', '/api/webhook-events?status=processed');
    return body.data.length === 5;
  });
  return service;
}

type Contents = Record<string, string[]>;

/** Returns every row of every table as text. */
export async function contentsOf(t: Test, env: Record<string, string>): Promise<Contents> {
  const database = await openDatabase({ ...readSettings({}), ...env }, testLog);
  await database.ready;
  const contents: Contents = {};
  for (const name of await tablesOf(database.writes)) {
    const rows = await select(
      database.writes,
      sql.raw(`select to_jsonb(r)::text as row from ${name} as r order by 1`),
    );
    contents[name] = rows.map(({ row }) => row as string);
  }
  await database.close();
  t.ok(Object.keys(contents).length > 12, `${Object.keys(contents)}`);
  for (const name of [
    'users',
    'subscriptions',
    'webhook_events',
    'api_keys',
    'identities',
    'audit_log',
    'list_tables',
  ])
    t.ok(contents[`public.${name}`]?.length, `${name} has rows`);
  return contents;
}

async function tablesOf(db: Connection): Promise<string[]> {
  const rows = await select(
    db,
    sql`select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  return rows.map(({ name }) => String(name));
}

// pg_dump refuses a server newer than itself, so these tests start a server of the same release.
const initdb = join(folderOf('initdb') ?? '', 'initdb');
/** The real folder of the program: it has the others even if the PATH has only a link to this one. */
export const bin = existsSync(initdb) ? dirname(realpathSync(initdb)) : '';
export const skip = !existsSync(join(bin, 'pg_dump')) && 'no folder on the PATH has initdb and pg_dump';

/** Starts a server of the installed release, with an empty database. */
export async function startInstalled(t: Test) {
  const [folder, port] = [join(makeFolder(t), 'data'), await freePort()];
  const server = new PostgresNode({
    name: 'installed',
    programs: bin,
    folder,
    port,
    settings: 'fsync = off',
  });
  t.teardown(() => server.stop('SIGINT'));
  await server.create();
  return {
    DATABASE_URL: `postgres://triport@127.0.0.1:${port}/postgres`,
    PATH: `${bin}:${process.env.PATH}`,
  };
}
