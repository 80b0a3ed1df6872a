import { setTimeout as sleep } from 'node:timers/promises';
import { type ConstructorOptions, fromPglite, PgBoss, type Job as PgBossJob } from 'pg-boss';
import type { Settings } from '../../schemas/settings.ts';
import type { Job, Queue } from '../core/context.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Connection } from '../database/connection.ts';
import type { Database } from '../database/database.ts';

export interface DueJob extends Job {
  /** Whether a worker began it before and did not finish it. */
  again: boolean;
}

/** Does jobs; returns why each must be retried, or undefined. After the signal they belong to another worker. */
export type Work = (jobs: DueJob[], signal: AbortSignal) => Promise<(string | undefined)[]>;

export interface WorkQueue extends Queue {
  /** Passes all jobs to this function, those already waiting included. */
  work(work: Work): void;
  /** Finishes the running jobs and begins no others. Jobs can still be added. */
  rest(): Promise<void>;
  /** Ends the queue. Jobs that are still running are retried by another worker. */
  close(): Promise<void>;
}

const name = 'webhook-events';
/**
 * Up to this many events are one job of pg-boss: adding, fetching and finishing each costs Postgres 0.15 ms. When one
 * event is retried, the others come again and are found done.
 */
const eventsPerJob = 50;
/** How many jobs a worker fetches at once, and how many workers there are: most connections stay free for requests. */
const batchSize = 10;
const workers = 2;
/** Milliseconds between batches that are not full. The first job starts at once; under load, others gather. */
const gatherFor = 50;
/** Milliseconds. */
const restartDelay = 500;
/** Milliseconds for running jobs to finish; another worker begins slower ones again. */
const restWithin = 5000;

/** Seconds before the first retry, and at most. Each delay is twice the one before, with jitter. */
export const defaultRetries = { delay: 5, delayMax: 3600 };

/** Opens the queue. Like the database, it may be away at any time and reconnects by itself. */
export function openQueue(
  settings: Settings,
  database: Database,
  log: Log,
  retries = defaultRetries,
): WorkQueue {
  const closing = new AbortController();
  let boss: PgBoss | undefined;
  let resting = false;
  const ready = start(settings, database, log, retries, closing.signal).then(started => {
    boss = started;
  });
  ready.catch(() => {});
  return {
    ready,
    add: async (db, jobs) => {
      if (jobs.length === 0) return;
      if (!boss) throw new AppError('unavailable', 'The service cannot accept work yet. Try again shortly.');
      await addJobs(boss, db, jobs);
    },
    work: work => {
      const listen = async () => {
        if (!resting) await boss?.work(name, workOptions, handlerOf(work));
      };
      ready.then(listen).catch(error => {
        if (database.available()) log.error({ err: error }, 'Jobs cannot be fetched from the queue.');
      });
    },
    rest: async () => {
      resting = true;
      await Promise.race([boss?.offWork(name), sleep(restWithin, undefined, { ref: false })]);
    },
    close: async () => {
      resting = true;
      closing.abort();
      // While the database is away, the start does not end.
      if (database.available()) await ready.catch(() => {});
      await boss?.stop({ graceful: true, timeout: 1000 });
    },
  };
}

/** Starts pg-boss, however long it takes; undefined when the queue was closed meanwhile. */
async function start(
  settings: Settings,
  database: Database,
  log: Log,
  retries: typeof defaultRetries,
  closing: AbortSignal,
): Promise<PgBoss | undefined> {
  await database.ready;
  for (let reported = false; !closing.aborted; await sleep(restartDelay)) {
    const boss = new PgBoss(optionsFor(settings, database));
    // An error without a listener would end the process.
    boss.on('error', error => database.available() && log.warn({ err: error }, 'The queue had an error.'));
    boss.on('warning', ({ message, data }) => log.warn({ data }, `The queue warns: ${message}`));
    try {
      await prepare(boss, retries);
      return boss;
    } catch (error) {
      if (!reported && !closing.aborted) log.warn({ err: error }, 'The queue cannot start; retrying.');
      reported = true;
      await boss.stop({ graceful: false }).catch(() => {});
    }
  }
  return undefined;
}

function optionsFor(settings: Settings, database: Database): ConstructorOptions {
  const { DATABASE_URL, QUEUE_DATABASE_URL: url = DATABASE_URL } = settings;
  return {
    ...(database.embedded
      ? { db: fromPglite(database.embedded), backend: 'pglite' as const }
      : { connectionString: url ?? '', max: 2, application_name: 'triport queue' }),
    // A job starts when its transaction commits, not at the next poll.
    useListenNotify: true,
    schedule: false,
    // The jobs of a killed process are found soon, by their missing heartbeat.
    superviseIntervalSeconds: 5,
    monitorIntervalSeconds: 5,
    maintenanceIntervalSeconds: 600,
    connectionTimeoutMillis: 3000,
  };
}

const workOptions = {
  batchSize,
  localConcurrency: workers,
  burstWhenBatchFull: true,
  perJobResults: true,
  // New jobs are notified, retries that become due are not.
  pollingIntervalSeconds: 1,
  notifyPollingIntervalSeconds: 1,
} as const;

async function prepare(boss: PgBoss, retries: typeof defaultRetries): Promise<void> {
  await boss.start();
  const options = {
    notify: true,
    // The row of the event counts its attempts and ends them; the queue must never give up before.
    retryLimit: 1000,
    retryBackoff: true,
    retryDelay: retries.delay,
    retryDelayMax: retries.delayMax,
    heartbeatSeconds: 10,
    expireInSeconds: 900,
    retentionSeconds: 10 * 365 * 86_400,
    deleteAfterSeconds: 3600,
  };
  await boss.createQueue(name, options);
  await boss.updateQueue(name, options);
  // Fills pg-boss's cache: on the embedded database, filling it within a transaction would wait for that transaction.
  await boss.insert(name, []);
}

interface Parcel {
  jobs: Job[];
}

async function addJobs(boss: PgBoss, db: Connection, jobs: Job[]): Promise<void> {
  const parcels: { data: Parcel }[] = [];
  for (let first = 0; first < jobs.length; first += eventsPerJob)
    parcels.push({ data: { jobs: jobs.slice(first, first + eventsPerJob) } });
  // pg-boss returns ids that nobody needs, so the rows stay arrays.
  const executeSql = async (text: string, values: unknown[] = []) => ({ rows: await db.rows(text, values) });
  await boss.insert(name, parcels, { db: { executeSql } });
}

type FetchedJob = Pick<PgBossJob<Parcel>, 'id' | 'data' | 'retryCount' | 'signal'>;

/** What pg-boss expects: the outcome of each of its jobs, by id. */
const handlerOf = (work: Work) => async (fetched: FetchedJob[]) => {
  const due = fetched.flatMap(({ data, retryCount }) =>
    data.jobs.map(job => ({ ...job, again: retryCount > 0 })),
  );
  const reasons = await work(due, AbortSignal.any(fetched.map(({ signal }) => signal)));
  if (fetched.length < batchSize) await sleep(gatherFor);
  return fetched.map(({ id, data }) => {
    const message = reasons.splice(0, data.jobs.length).find(reason => reason !== undefined);
    return message === undefined
      ? { id, status: 'completed' as const }
      : { id, status: 'failed' as const, output: { message } };
  });
};
