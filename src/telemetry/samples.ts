import { longestPast, type Sample } from '#schemas/service/overview.ts';
import { eventBuckets, type Metrics } from './metrics.ts';

interface Options {
  metrics: Metrics;
  now: () => Date;
  /** Whether this process also processes events. */
  isWorker: boolean;
  /** Counts the changes of records from one time until another. */
  countChanges: (from: Date, to: Date) => Promise<Sample['changes']>;
  /** How many full minutes are kept. */
  most?: number;
}

/** What was counted since the process began, by name. */
type Totals = ReadonlyMap<string, number>;
/** What was counted under a name in a minute. */
type Counted = (name: string) => number;

/** Milliseconds. Timers may be early, so that of a minute rings a little after its end. */
const [minute, afterEnd] = [60_000, 20];

/** Keeps what happened in each minute. It reads the metrics when a minute is over, and when it is asked. */
export function startSamples({ metrics, now, isWorker, countChanges, most = longestPast }: Options) {
  const full: Sample[] = [];
  const thisMinute = () => Math.floor(now().getTime() / minute) * minute;
  let begun = thisMinute();
  let last: Totals = new Map();

  async function addChanges(sample: Sample): Promise<void> {
    const at = Date.parse(sample.at);
    const counted = await countChanges(new Date(at), new Date(at + minute)).catch(() => null);
    sample.changes = counted ?? sample.changes;
  }

  /** Ends the minute if it is over; returns the full ones, oldest first, then the one that is running. */
  async function list(): Promise<Sample[]> {
    const [totals, connections] = await Promise.all([readTotals(metrics), readConnections(metrics)]);
    const sample = (): Sample => {
      const counted: Counted = name => (totals.get(name) ?? 0) - (last.get(name) ?? 0);
      return makeSample(new Date(begun), counted, connections, isWorker);
    };
    const isOver = begun !== thisMinute();
    if (isOver) {
      full.push(sample());
      if (full.length > most) full.shift();
      [begun, last] = [thisMinute(), totals];
    }
    // Makes the list before it waits: the next minute may end while the database is slow.
    const samples = [...full, sample()];
    // Counts the minute before again: a transaction that was open at its end may have committed.
    await Promise.all(samples.slice(isOver ? -3 : -1).map(addChanges));
    return samples;
  }

  let timer: NodeJS.Timeout;
  function wait(): void {
    const left = minute - (now().getTime() % minute);
    timer = setTimeout(() => {
      wait();
      list().catch(() => {});
    }, left + afterEnd).unref();
  }
  wait();
  return { list, stop: () => clearTimeout(timer) };
}

async function readTotals(metrics: Metrics): Promise<Totals> {
  const totals = new Map<string, number>(Object.entries(metrics.outcomes));
  const add = (name: string, value: number) => totals.set(name, (totals.get(name) ?? 0) + value);
  const [received, refused, processed, failed, durations] = await Promise.all([
    metrics.webhooksReceived.get(),
    metrics.webhooksRefused.get(),
    metrics.eventsProcessed.get(),
    metrics.attemptsFailed.get(),
    metrics.eventDurations.get(),
  ]);
  for (const { labels, value } of received.values) add(`deliveries ${labels.outcome}`, value);
  for (const { value } of refused.values) add('deliveries refused', value);
  for (const { value } of processed.values) add('processed', value);
  for (const { labels, value } of failed.values) add(`attempts ${labels.outcome}`, value);
  for (const { labels, value } of durations.values) add(`within ${labels.le}`, value);
  return totals;
}

/** What is open now. The database has no gauge in a process without its metrics, or if it is embedded. */
async function readConnections({ registry }: Metrics): Promise<Sample['connections']> {
  const read = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values ?? [];
  const [streams, database] = await Promise.all([read('streams_open'), read('database_connections')]);
  const states = new Map(database.map(({ labels, value }) => [labels.state, value]));
  const [reading = 0, writing = 0, idle = 0] = ['reading', 'writing', 'idle'].map(name => states.get(name));
  return { streams: streams[0]?.value ?? 0, reading, writing, idle };
}

function makeSample(
  at: Date,
  counted: Counted,
  connections: Sample['connections'],
  isWorker: boolean,
): Sample {
  const outcomes = ['succeeded', 'refused', 'denied', 'limited', 'failed'] as const;
  return {
    at: at.toISOString(),
    requests: Object.fromEntries(outcomes.map(name => [name, counted(name)])) as Sample['requests'],
    deliveriesRefused: counted('deliveries refused'),
    received: counted('deliveries received') + counted('deliveries ignored'),
    processing: isWorker ? processingIn(counted) : null,
    changes: null,
    connections,
  };
}

const processingIn = (counted: Counted): Sample['processing'] => ({
  processed: counted('processed'),
  failed: counted('attempts failed'),
  dead: counted('attempts dead'),
  halfWithin: secondsFor(0.5, counted),
  mostWithin: secondsFor(0.95, counted),
});

/** The seconds in which this share of the events took effect, estimated inside of a bucket as Prometheus does. */
function secondsFor(share: number, counted: Counted): number | null {
  const rank = share * counted('within +Inf');
  if (rank === 0) return null;
  let [lower, before] = [0, 0];
  for (const upper of eventBuckets) {
    const until = counted(`within ${upper}`);
    if (until >= rank) {
      const seconds = lower + ((upper - lower) * (rank - before)) / (until - before);
      return Math.round(seconds * 1000) / 1000;
    }
    [lower, before] = [upper, until];
  }
  return lower;
}
