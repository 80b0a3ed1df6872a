import { randomBytes } from 'node:crypto';
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
