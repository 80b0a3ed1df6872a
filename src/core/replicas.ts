import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { drizzle } from 'drizzle-orm/postgres-js';
import { Redis } from 'ioredis';
import type postgres from 'postgres';
import type { Settings } from '../../schemas/settings.ts';
import { replicaUrls } from './config.ts';
import type { Database, Orm } from './database.ts';
import { databaseFailure, isOutage } from './failure.ts';
import type { Log } from './log.ts';
import { answerOf, type Client, connectProbe, connectTo } from './postgres.ts';
import { impatient } from './redis.ts';

/**
 * Copies of the database that are read from. Two promises hold on all instances together:
 *
 * 1. What a replica answers with is complete up to a moment that is at most REPLICA_MAX_LAG ago. Each instance keeps asking
 *    the primary how far its log is, and each replica how much of the log it has applied.
 * 2. A caller finds what he wrote. Before a write is answered, a mark with his name goes to Redis, which lasts longer
 *    than any replica may lag; who has a mark reads from the primary. Times are measured, never compared between clocks.
 */
export interface Replicas {
  /** Where this caller may read; undefined is the primary. */
  readerFor(caller: string): Promise<Orm | undefined>;
  /** Tells all instances that he wrote. Wait for it before he is answered. */
  wrote(caller: string): Promise<void>;
  close(): Promise<void>;
}

type ReplicaSettings = Pick<
  Settings,
  | 'DATABASE_URL'
  | 'DATABASE_POOLER'
  | 'DATABASE_POOL_SIZE'
  | 'DATABASE_REPLICA_URLS'
  | 'REPLICA_MAX_LAG'
  | 'REDIS_URL'
>;

/** All times are in milliseconds. */
const checkEvery = 250;
/** A replica that is alive says in a fraction of this how far it is. */
const patience = 1000;

/** Undefined when there are none: then nothing is asked and nothing is marked. */
export function openReplicas(settings: ReplicaSettings, database: Database, log: Log): Replicas | undefined {
  const { REPLICA_MAX_LAG, REDIS_URL, DATABASE_POOL_SIZE: connections } = settings;
  const urls = replicaUrls(settings);
  if (urls.length === 0 || REDIS_URL === undefined) return undefined;
  const maxLag = REPLICA_MAX_LAG * 1000;
  const primary = (database.orm as unknown as { $client: Client }).$client;
  const probe = connectProbe(settings.DATABASE_URL ?? '', log, {
    prepare: settings.DATABASE_POOLER === 'none',
  });
  const replicas = urls.map(
    (url, i) =>
      new Replica(`Replica ${i + 1}`, {
        client: connectTo({ url, connections }, log),
        probe: connectProbe(url, log),
        primary,
        log,
      }),
  );
  const marks = new Marks(REDIS_URL, maxLag + 1000, log);
  let closed = false;

  /** Where the log of the primary was, at moments that are not longer ago than a replica may be behind. */
  let history: Moment[] = [];
  async function watch() {
    while (!closed) {
      const time = performance.now();
      // While the primary is away no replica proves that it is up to date, and soon none counts as such.
      const position = database.available() && (await positionOf(probe, written).catch(() => undefined));
      if (position) history = [...history.filter(past => time - past.time <= maxLag), { time, position }];
      for (const replica of replicas) replica.check(history);
      await sleep(checkEvery);
    }
  }
  void watch();

  return {
    readerFor: async caller => {
      // Asked before the replica is chosen: what it has applied by then is not less later.
      if (await marks.has(caller)) return undefined;
      const time = performance.now();
      const fresh = replicas.filter(({ upTo }) => time - upTo <= maxLag);
      // The same caller on the same replica, so that time does not go back for him from one page to the next.
      return fresh[Number.parseInt(hash('sha1', caller).slice(0, 8), 16) % fresh.length]?.orm;
    },
    wrote: caller => marks.set(caller),
    close: async () => {
      closed = true;
      await Promise.all([marks.close(), end(probe), ...replicas.map(replica => replica.close())]);
    },
  };
}

interface Moment {
  time: number;
  /** Bytes of the log. */
  position: bigint;
}

/** All that is committed is in the log up to here: a commit is answered after its flush. */
const written = "select (pg_current_wal_flush_lsn() - '0/0')::text as position";
/** Null where it is no replica, or not any more. */
const applied = `select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::text end as position`;

async function positionOf(probe: Client, text: string): Promise<bigint | undefined> {
  const [row] = await answerOf(probe, text, patience);
  return typeof row?.position === 'string' ? BigInt(row.position) : undefined;
}

async function end(client: Client): Promise<void> {
  await client.end({ timeout: 1 });
  client.cut();
}

interface Means {
  client: Client;
  /** Alone on its connection: what it asks never waits behind reads. */
  probe: Client;
  primary: Client;
  log: Log;
}

class Replica {
  readonly orm: Orm;
  /** All that was committed before this moment can be read here. */
  upTo = Number.NEGATIVE_INFINITY;
  readonly #name: string;
  readonly #means: Means;
  #asking = false;
  #away = false;
  #closed = false;

  constructor(name: string, means: Means) {
    this.#name = name;
    this.#means = means;
    this.orm = drizzle(readingFrom(means, error => this.#lost(error))) as unknown as Orm;
  }

  /** Asks how far it is. Does not wait: one that is silent must not hide the others. */
  check(history: Moment[]): void {
    if (this.#asking) return;
    this.#asking = true;
    positionOf(this.#means.probe, applied)
      .then(
        position => this.#found(position, history),
        error => this.#lost(error),
      )
      .finally(() => {
        this.#asking = false;
      });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([end(this.#means.client), end(this.#means.probe)]);
  }

  #found(position: bigint | undefined, history: Moment[]): void {
    // It became a primary, with a history of its own.
    if (position === undefined) this.upTo = Number.NEGATIVE_INFINITY;
    else this.upTo = history.findLast(moment => moment.position <= position)?.time ?? this.upTo;
    if (this.#away) this.#means.log.info(`${this.#name} is back.`);
    this.#away = false;
  }

  #lost(error: unknown): void {
    this.upTo = Number.NEGATIVE_INFINITY;
    if (this.#away || this.#closed) return;
    this.#away = true;
    this.#means.log.warn({ err: error }, `${this.#name} is out of reach: its reads go to the primary.`);
    // What waits for a machine that is gone would wait until TCP gives up; cut, it is read from the primary.
    this.#means.client.cut();
  }
}

/**
 * A client for reads on a replica. A read that fails there because the replica went away, or because a change that it
 * had to apply was in the way, is read from the primary: nobody notices. Transactions always run on the primary.
 */
function readingFrom({ client: replica, primary }: Means, lost: (error: unknown) => void): postgres.Sql {
  function unsafe(text: string, parameters: never[], options: postgres.UnsafeQueryOptions) {
    async function run<T>(read: (client: Client) => PromiseLike<T>): Promise<T> {
      try {
        return await read(replica);
      } catch (error) {
        const failure = databaseFailure(error);
        if (!failure || !isOutage(failure)) throw error;
        if (failure.code !== recoveryConflict) lost(error);
        return read(primary);
      }
    }
    const rows = (client: Client) => client.unsafe(text, parameters, options);
    return {
      // biome-ignore lint/suspicious/noThenProperty: like the driver's own, this runs when it is awaited
      then: (...handlers: Parameters<Promise<unknown>['then']>) => run(rows).then(...handlers),
      values: () => run(client => rows(client).values()),
    };
  }
  return { options: replica.options, unsafe, begin: primary.begin } as unknown as postgres.Sql;
}
const recoveryConflict = '40001';

/** Who has written lately, for all instances. */
class Marks {
  readonly #redis: Redis;
  readonly #life: number;

  constructor(url: string, life: number, log: Log) {
    this.#life = life;
    this.#redis = new Redis(url, { keyPrefix: 'triport:wrote:', ...impatient });
    // Unheard, it would end the process. The limits tell that Redis is away.
    this.#redis.on('error', error => log.debug({ err: error }, 'Redis'));
  }

  /** Whom nobody can be asked about reads from the primary. */
  async has(name: string): Promise<boolean> {
    if (this.#redis.status !== 'ready') return true;
    return this.#redis.exists(name).then(Boolean, () => true);
  }

  async set(name: string): Promise<void> {
    // While Redis is away nobody reads from a replica, so there is nobody to tell.
    await this.#redis.set(name, 1, 'PX', this.#life).catch(() => {});
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }
}
