import { channel } from 'node:diagnostics_channel';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../database/database.ts';

/** In seconds. The last one is the default of HANDLER_TIMEOUT. */
const durations = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];
const sizes = [1, 2, 5, 10, 20, 50, 100, 200];

/** What was done together, said by whoever did it. It costs nothing while nobody listens. */
export const batches = channel('triport:batches');
export interface Batch {
  what: 'reads' | 'lists' | 'webhooks';
  size: number;
}

/** A value of now, or one for each value of the label, or none. */
type Reading = number | Map<string, number> | undefined;

/** Everything that is measured, under the names that Prometheus, the dashboard and the alerts know. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #caches = new Map<string, () => number>();

  readonly requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Requests by route, method and status, with the time until the answer was sent.',
    labelNames: ['method', 'route', 'status'],
    buckets: durations,
    registers: [this.#registry],
  });
  readonly shed = this.#counter('http_requests_shed_total', 'Requests refused because of overload.');
  readonly webhooksReceived = this.#counter(
    'webhooks_received_total',
    'Deliveries that were genuine, by outcome and by the place of the secret that fitted; 0 is the current one.',
    ['provider', 'outcome', 'secret'],
  );
  readonly webhooksRefused = this.#counter(
    'webhooks_refused_total',
    'Deliveries that were not believed, by reason.',
    ['provider', 'reason'],
  );
  readonly eventsProcessed = this.#counter('webhook_events_processed_total', 'Events that had their effect.');
  readonly attemptsFailed = this.#counter(
    'webhook_attempts_failed_total',
    'Attempts at events that failed, by what became of the event: failed is tried again, dead is not.',
    ['outcome'],
  );

  constructor() {
    this.watch('cache_entries', 'Entries of the caches in memory.', 'cache', () => {
      return new Map([...this.#caches].map(([name, size]) => [name, size()]));
    });
  }

  /** A value that is read when somebody asks for it. */
  watch(name: string, help: string, label: string | undefined, read: () => Reading | Promise<Reading>): void {
    new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [this.#registry],
      async collect() {
        const value = await read();
        this.reset();
        if (typeof value === 'number') this.set(value);
        // Without a label the reset left a 0, which would be a lie.
        else if (label === undefined) this.remove();
        else for (const [key, each] of value ?? []) this.set({ [label]: key }, each);
      },
    });
  }

  watchCache(name: string, size: () => number): void {
    this.#caches.set(name, size);
  }

  watchDatabase({ available, load }: Database): void {
    this.watch('database_up', 'Whether the database is in reach and up to date.', undefined, () =>
      Number(available()),
    );
    if (load === undefined) return;
    this.watch('database_connections', 'Connections for requests, by state.', 'state', () => {
      const { connections, reading, writing } = load();
      return new Map(Object.entries({ reading, writing, idle: connections - reading - writing }));
    });
    this.watch('database_statements_waiting', 'Statements that wait for a connection.', undefined, () => {
      return load().waiting;
    });
  }

  /** What there is once in a process: memory, CPU, event loop, and what all applications in it gather. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
    const gathered = new Histogram({
      name: 'gathered_size',
      help: 'How many reads or lists one statement answered, and how many webhooks one transaction stored.',
      labelNames: ['what'],
      buckets: sizes,
      registers: [this.#registry],
    });
    batches.subscribe(message => {
      const { what, size } = message as Batch;
      gathered.observe({ what }, size);
    });
  }

  /** All of it in the text format of Prometheus. */
  read(): Promise<string> {
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[] = []): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }
}
