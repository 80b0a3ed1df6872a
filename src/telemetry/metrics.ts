import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Seconds. The last is longer than a handler has by default. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];
/** Seconds. The last is longer than the pause before a retry. */
export const eventBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800, 7200];

/** The current value, or one for each value of the label; undefined when there is none. */
export type Reading = number | Map<string, number> | undefined;

/** All metrics. Dashboards and alerts use their names. */
export class Metrics {
  readonly registry = new Registry();
  /** The entries of each cache in memory, by its name. */
  readonly caches = new Map<string, () => number>();

  readonly requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Requests by route, method and status, with the time until the response was sent.',
    labelNames: ['method', 'route', 'status'],
    buckets: durationBuckets,
    registers: [this.registry],
  });
  /** The same by outcome: to read it from the hundreds of series of the histogram takes 20 ms. */
  readonly outcomes = { succeeded: 0, refused: 0, denied: 0, limited: 0, failed: 0, left: 0 };
  readonly shed = this.#counter('http_requests_shed_total', 'Requests refused because of overload.');
  readonly webhooksReceived = this.#counter(
    'webhooks_received_total',
    'Genuine deliveries by outcome and by the index of the matching secret; 0 is the current one.',
    ['provider', 'outcome', 'secret'],
  );
  readonly webhooksRefused = this.#counter(
    'webhooks_refused_total',
    'Deliveries whose signature was refused, by reason.',
    ['provider', 'reason'],
  );
  readonly eventsProcessed = this.#counter('webhook_events_processed_total', 'Events that took effect.');
  readonly eventDurations = new Histogram({
    name: 'webhook_event_duration_seconds',
    help: 'The time from the arrival of an event until it took effect. Replayed events are left out.',
    buckets: eventBuckets,
    registers: [this.registry],
  });
  readonly attemptsFailed = this.#counter(
    'webhook_attempts_failed_total',
    'Failed attempts by the new status of the event: failed is retried, dead is not.',
    ['outcome'],
  );

  constructor() {
    const sizes = () => new Map([...this.caches].map(([name, size]) => [name, size()]));
    this.watch('cache_entries', 'Entries of the caches in memory.', sizes, 'cache');
  }

  /** A gauge that is read when the metrics are collected. */
  watch(name: string, help: string, read: () => Reading | Promise<Reading>, label?: string): void {
    new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [this.registry],
      async collect() {
        const value = await read();
        this.reset();
        if (typeof value === 'number') this.set(value);
        // The reset of a gauge without a label leaves a 0.
        else if (label === undefined) this.remove();
        else for (const [key, each] of value ?? []) this.set({ [label]: key }, each);
      },
    });
  }

  countRequest(labels: { method: string; route: string; status: number }, seconds: number): void {
    this.requests.observe(labels, seconds);
    this.outcomes[outcomeOf(labels.status)]++;
  }

  /** Counts events that took effect now. The time of a replayed event would be that of its operator. */
  countProcessed(events: { createdAt: string; replays: number }[], now: Date): void {
    this.eventsProcessed.inc(events.length);
    for (const { createdAt, replays } of events)
      if (replays === 0)
        this.eventDurations.observe(Math.max(0, now.getTime() - Date.parse(createdAt)) / 1000);
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[] = []): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}

/** The outcome of a request by its status; 499 says that its client left. */
function outcomeOf(status: number): keyof Metrics['outcomes'] {
  if (status === 499) return 'left';
  if (status < 400) return 'succeeded';
  if (status >= 500) return 'failed';
  if (status === 429) return 'limited';
  return status === 401 || status === 403 ? 'denied' : 'refused';
}
