/** Counts things that happen, by name and labels. Whoever offers metrics reads them here. */
export class Counters {
  readonly #values = new Map<string, number>();

  add(name: string, labels: Record<string, string> = {}, by = 1): void {
    const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
    const series = pairs.length > 0 ? `${name}{${pairs.join()}}` : name;
    this.#values.set(series, (this.#values.get(series) ?? 0) + by);
  }

  /** Every series in the notation of Prometheus, with its value. */
  entries(): [string, number][] {
    return [...this.#values];
  }
}
