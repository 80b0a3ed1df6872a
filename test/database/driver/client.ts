import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import type { Test } from 'tap';
import { backend, createPostgres } from '#test/helper/database.ts';
import { outcome, watchUncaught } from '#test/helper/servers/fakeServer.ts';
import { until } from '#test/rig/process.ts';

export const onPostgres = backend === 'postgres' ? {} : { skip: 'needs a server: npm test -- postgres' };

/** A client without pauses, of one connection by default, that ends with the test. */
export function openClient(t: Test, url: string, options: object = {}): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {}, backoff: () => 0, ...options });
  t.teardown(() => sql.end({ timeout: 0 }));
  return sql;
}

type Client = Awaited<ReturnType<typeof makeClient>>;
/** Defines tests of what a client does when its connections fail. No error may be uncaught. */
export const clientTests =
  (t: Test) => (name: string, options: object, run: (t: Test, client: Client) => Promise<void>) =>
    t.test(name, onPostgres, async t => {
      const uncaught = watchUncaught(t);
      await run(t, await makeClient(t, options));
      await sleep(50);
      t.same(uncaught, []);
    });

/** A client of its own database with one table, and a second client that can break its connections. */
async function makeClient(t: Test, { hold = false, ...options }: { hold?: boolean }) {
  const url = await createPostgres(t, { empty: true });
  const name = `driver ${randomBytes(4).toString('hex')}`;
  const sockets: Socket[] = [];
  /** An option that the README of the driver documents, but its types do not. */
  const socket = async ({ host, port }: { host: string[]; port: number[] }) => {
    const opened = connect(port[0] ?? 0, host[0]);
    await once(opened, 'connect');
    sockets.push(opened);
    return opened;
  };
  const connection = { application_name: name };
  const sql = openClient(t, url, { connection, ...(hold && { socket }), ...options });
  const admin = openClient(t, url);
  await admin`create table notes (text text)`;
  const terminate = async () => {
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${name}`;
  };
  const sleeping = () =>
    admin`select from pg_stat_activity where application_name = ${name} and wait_event = 'PgSleep'`;
  /** How a statement ends when its connection is lost while it runs. */
  const loseConnection = async () => {
    const lost = outcome(sql`select pg_sleep(60)`, 70_000);
    await until('it runs', async () => (await sleeping()).length > 0);
    await terminate();
    return lost;
  };
  return {
    sql,
    /** The sockets of the client; empty without `hold`. */
    sockets,
    terminate,
    loseConnection,
    backends: () => admin`select state from pg_stat_activity where application_name = ${name}`,
    notes: async () => (await admin`select text from notes order by text`).map(row => row.text),
  };
}
