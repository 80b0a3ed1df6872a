import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Seconds. The last is longer than a handler has by default. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

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

  #counter<Label extends string>(name: string, help: string, labelNames: Label[] = []): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}
