import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import postgres from 'postgres';
import type { Test } from 'tap';
import { createPostgres } from '../../helper/database.ts';

/** A client of its own database with one table, and a second client that can break its connections. */
export async function makeClient(t: Test, options: object) {
  const url = await createPostgres(t, { empty: true });
  const name = `driver ${randomBytes(4).toString('hex')}`;
  const sql = postgres(url, {
    onnotice: () => {},
    backoff: () => 0,
    connection: { application_name: name },
    ...options,
  });
  const admin = postgres(url, { max: 1 });
  t.teardown(() => Promise.all([sql.end({ timeout: 0 }), admin.end({ timeout: 0 })]));
  await admin`create table notes (text text)`;
  return {
    sql,
    backends: () => admin`select pid, state from pg_stat_activity where application_name = ${name}`,
    terminate: async () => {
      await admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${name}`;
    },
    notes: async () => (await admin`select text from notes order by text`).map(row => row.text),
  };
}

/** Holds the sockets of a client. The README of the driver documents the option `socket`, its types do not. */
export function holdSockets() {
  const sockets: Socket[] = [];
  return {
    sockets,
    open: async ({ host, port }: { host: string[]; port: number[] }) => {
      const socket = connect(port[0] ?? 0, host[0]);
      await once(socket, 'connect');
      sockets.push(socket);
      return socket;
    },
  };
}
