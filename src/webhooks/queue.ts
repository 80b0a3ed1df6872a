import { setTimeout as sleep } from 'node:timers/promises';
import { type ConstructorOptions, fromPglite, PgBoss, type Job as PgBossJob } from 'pg-boss';
import type { Settings } from '../../schemas/settings.ts';
import type { Job, Queue } from '../core/context.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Database } from '../database/database.ts';

export interface DueJob extends Job {
  /** Whether somebody began it before and did not finish it. */
  again: boolean;
}

/** Does jobs, and returns for each why it must be tried again, or nothing. After the signal they belong to somebody else. */
export type Work = (jobs: DueJob[], signal: AbortSignal) => Promise<(string | undefined)[]>;

export interface WorkQueue extends Queue {
  /** Has the jobs done from now on, also those that are waiting. */
  work(work: Work): void;
  /** Finishes the jobs in hand and begins no other. Jobs can still be added. */
  rest(): Promise<void>;
  /** Ends the queue, when nobody adds jobs any more. What is still in hand is given back to be tried again. */
  close(): Promise<void>;
}

const name = 'webhook-events';
const startAgainAfter = 500;
/**
 * Events whose jobs are added together are one job of pg-boss: to add, to fetch and to finish one costs Postgres 0.15 ms. When
 * one of them must be tried again, so are the others, which then find nothing to do.
 */
const mostInOne = 50;
/** Milliseconds for the jobs in hand. What takes longer is begun again by somebody else. */
const restWithin = 5000;
/** The jobs that one worker takes at once, and the workers: together they leave most connections to requests. */
const batchSize = 10;
const workers = 2;
/**
 * A worker rests so many milliseconds after a batch, unless it was full. The first job is begun at once; those that follow under
 * load are gathered.
 */
const gatherFor = 50;

type QueueSettings = Pick<Settings, 'DATABASE_URL' | 'QUEUE_DATABASE_URL'>;

/** Seconds before the first retry, and between two at most. Each wait is twice as long as the one before, with jitter. */
export const defaultRetries = { delay: 5, delayMax: 3600 };

/** The queue of either backend. Like the database it may be away, now and later, and comes back by itself. */
export function openQueue(
  settings: QueueSettings,
  database: Database,
  log: Log,
  retries = defaultRetries,
): WorkQueue {
  let boss: PgBoss | undefined;
  let work: Work | undefined;
  let resting = false;
  let closed = false;

  async function start() {
    await database.ready;
    for (let told = false; !closed && !boss; ) {
      const next = new PgBoss(optionsFor(settings, database));
      // Unheard, an error would end the process. While the database is away there is nothing new to say.
      next.on('error', error => database.available() && log.warn({ err: error }, 'The queue had an error.'));
      next.on('warning', ({ message, data }) => log.warn({ data }, `The queue warns: ${message}`));
      try {
        await prepare(next, retries);
        boss = next;
      } catch (error) {
        if (!told && !closed) log.warn({ err: error }, 'The queue does not start. Trying until it does.');
        told = true;
        await next.stop({ graceful: false }).catch(() => {});
        await sleep(startAgainAfter);
      }
    }
    if (work) await listen();
  }

  async function listen() {
    if (boss && work && !resting) await boss.work(name, workOptions, handler(work));
  }

  const ready = start();
  ready.catch(() => {});
  return {
    ready,
    add: async (db, jobs) => {
      if (jobs.length === 0) return;
      if (!boss) throw new AppError('unavailable', 'The service cannot take work yet. Try again shortly.');
      const parcels: { data: Parcel }[] = [];
      for (let first = 0; first < jobs.length; first += mostInOne)
        parcels.push({ data: { jobs: jobs.slice(first, first + mostInOne) } });
      await boss.insert(name, parcels, {
        // The insert returns ids that nobody needs, so its rows stay arrays.
        db: { executeSql: async (text, values = []) => ({ rows: await db.rows(text, values) }) },
      });
    },
    work: given => {
      work = given;
      listen().catch(error => log.error({ err: error }, 'The queue cannot be worked on.'));
    },
    rest: async () => {
      resting = true;
      if (boss) await Promise.race([boss.offWork(name), sleep(restWithin, undefined, { ref: false })]);
    },
    close: async () => {
      resting = closed = true;
      // A start that waits for a database which is away would never end.
      if (database.available()) await ready.catch(() => {});
      await boss?.stop({ graceful: true, timeout: 1000 });
    },
  };
}

function optionsFor(settings: QueueSettings, database: Database): ConstructorOptions {
  const { DATABASE_URL, QUEUE_DATABASE_URL: url = DATABASE_URL } = settings;
  return {
    ...(database.embedded
      ? { db: fromPglite(database.embedded), backend: 'pglite' as const }
      : { connectionString: url ?? '', max: 2, application_name: 'triport queue' }),
    // A job is begun when its transaction commits, not when somebody looks.
    useListenNotify: true,
    schedule: false,
    // The jobs of a killed process are found by their missing sign of life, soon.
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
  // New jobs announce themselves; retries become due silently.
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
    // Work that nobody did for long is still to be done; finished work is of no use to anybody.
    retentionSeconds: 10 * 365 * 86_400,
    deleteAfterSeconds: 3600,
  };
  await boss.createQueue(name, options);
  await boss.updateQueue(name, options);
  // Inside a transaction of the embedded database the first insert would wait for a look at the queue, which
  // waits for the transaction. An insert of nothing fills the cache before.
  await boss.insert(name, []);
}

/** What one job of pg-boss holds. */
interface Parcel {
  jobs: Job[];
}
type Given = Pick<PgBossJob<Parcel>, 'id' | 'data' | 'retryCount' | 'signal'>;

/** What pg-boss expects: the outcome of each of its jobs by its id. */
const handler = (work: Work) => async (parcels: Given[]) => {
  const due = parcels.flatMap(({ data, retryCount }) =>
    data.jobs.map(job => ({ ...job, again: retryCount > 0 })),
  );
  const reasons = await work(due, AbortSignal.any(parcels.map(({ signal }) => signal)));
  if (parcels.length < batchSize) await sleep(gatherFor);
  return parcels.map(({ id, data }) => {
    const message = reasons.splice(0, data.jobs.length).find(reason => reason !== undefined);
    return message === undefined
      ? { id, status: 'completed' as const }
      : { id, status: 'failed' as const, output: { message } };
  });
};
