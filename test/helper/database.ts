import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { pino } from 'pino';
import postgres from 'postgres';
import type { Test } from 'tap';
import { count, type PgTable, type SQL, sql } from '#drizzle/orm.ts';
import { onFirstUse } from '#src/core/kept.ts';
import { announced } from '#src/database/announcements/announced.ts';
import { type Connection, orm } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { openEmbedded } from '#src/database/embedded/embedded.ts';
import { openPostgres } from '#src/database/postgres/postgres.ts';

export const testLog = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' });

/** The other servers of a distributed database: the template is cloned on each of them. */
const nodes = process.env.TEST_POSTGRES_NODES?.split(',') ?? [];
export const isDistributed = nodes.length > 0;

/** The backend of this run: `npm test` runs tests of a database on both. */
export const backend = process.env.TEST_POSTGRES_URL ? 'postgres' : 'embedded';

/** Whether the service sends a statement for itself: it counts the changes whenever a minute ends. */
export const isOfClock = (text: string) => text.includes('"audit_log"."version" is not null');

/** Returns the database, and the statements that its reads and its writes send. */
export function watchStatements(database: Database) {
  const watch = (connection: Connection, sent: string[]): Connection => ({
    ...connection,
    rows: (text, ...others) => {
      if (!isOfClock(text)) sent.push(text);
      return connection.rows(text, ...others);
    },
    transaction: work => connection.transaction(inside => work(watch(inside, sent))),
  });
  const sent: string[] = [];
  const written: string[] = [];
  const watched = {
    reads: watch(database.reads, sent),
    costly: watch(database.costly, sent),
    writes: watch(database.writes, written),
  };
  return { database: { ...database, ...watched }, sent, written };
}

/** Returns the database with costly statements that wait until they are let go. `begun` has the parameters of each. */
export function holdCostly(t: Test, database: Database) {
  const begun: unknown[][] = [];
  const held: { params: unknown[]; go: () => void }[] = [];
  let isOpen = false;
  const rows: Connection['rows'] = async (text, params, ...others) => {
    begun.push(params);
    if (!isOpen) await new Promise<void>(go => held.push({ params, go }));
    return database.costly.rows(text, params, ...others);
  };
  /** Lets the first one go, or the first one with this parameter. */
  const release = (parameter?: unknown) => {
    const index = held.findIndex(({ params }) => parameter === undefined || params.includes(parameter));
    if (index >= 0) for (const { go } of held.splice(index, 1)) go();
  };
  const open = () => {
    isOpen = true;
    for (const { go } of held.splice(0)) go();
  };
  t.teardown(open);
  return { database: { ...database, costly: { ...database.costly, rows } }, begun, release, open };
}

/** Returns what a query selects, as objects. */
export async function select(db: Connection, query: SQL): Promise<Record<string, unknown>[]> {
  const rows = await orm(db)
    .select({ row: sql<Record<string, unknown>>`to_jsonb(r)` })
    .from(sql`(${query}) as r`);
  return rows.map(({ row }) => row);
}

/** Counts the rows of a table. */
export async function countRows(db: Connection, table: PgTable): Promise<number> {
  const [row] = await orm(db).select({ total: count() }).from(table);
  return row?.total ?? 0;
}

/** Opens a migrated, empty database for one test, removed when the test ends. */
export async function openTestDatabase(t: Test): Promise<Database> {
  const database =
    backend === 'postgres'
      ? openPostgres({ url: await createPostgres(t), connections: 4, statementTimeout: 60_000 }, testLog)
      : await openEmbedded({ snapshot }, testLog);
  t.teardown(() => database.close());
  await database.ready;
  if (!snapshot && backend === 'embedded') {
    const { makeTables } = await import('#test/world/tables.ts');
    await makeTables(database.writes);
  }
  return announced(database);
}

/** The migrated database that each test starts from. A file that is run by hand makes its own. */
const file = process.env.TEST_SNAPSHOT;
const snapshot = file ? new Blob([readFileSync(file)]) : undefined;

/** One connection to each server for all tests of a process, which it does not keep alive. */
const servers = onFirstUse(async () =>
  [process.env.TEST_POSTGRES_URL ?? '', ...nodes].map(url => {
    const { hostname, port } = new URL(url);
    const socket = () => connect(Number(port), hostname).unref();
    return postgres(url, {
      max: 1,
      fetch_types: false,
      max_lifetime: null,
      onnotice: () => {},
      socket,
    } as object);
  }),
);

/** Tries five times on a distributed database: its daemons connect again and again, and cannot always be ended. */
async function dropDatabase(server: postgres.Sql, name: string): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      await server.unsafe(`drop database ${name} with (force)`);
      return;
    } catch (error) {
      if (!isDistributed || tries === 5) throw error;
    }
}

/** Creates a copy of the migrated template, or an empty database, and returns its URL. */
export async function createPostgres(
  t: Test,
  { empty = false, encoding = 'UTF8', locale = '' } = {},
): Promise<string> {
  const url = new URL(process.env.TEST_POSTGRES_URL ?? '');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const all = await servers();
  const onAll = (text: string) => Promise.all(all.map(server => server.unsafe(text)));
  const template = empty ? 'template0' : 'triport_template';
  await onAll(
    `create database ${name} encoding '${encoding}' ${locale} template ${template} strategy file_copy`,
  );
  t.teardown(async () => {
    // The database of the coordinator goes first: its daemon opens sessions on the others.
    for (const server of all) await dropDatabase(server, name);
  });
  url.pathname = `/${name}`;
  return url.href;
}

/** Does `work` in a transaction that stays open, with its locks, until the returned function is called. */
export async function hold<T>({ writes }: Database, work: (tx: Connection) => Promise<T>) {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = writes.transaction(async tx => {
    const result = await work(tx);
    begun.resolve();
    await end.promise;
    return result;
  });
  await Promise.race([begun.promise, holding]);
  return () => {
    end.resolve();
    return holding;
  };
}

export const lockUser = (database: Database, id: string, lock: 'update' | 'no key update') =>
  hold(database, tx => tx.rows(`select from users where id = '${id}' for ${lock}`, []));
