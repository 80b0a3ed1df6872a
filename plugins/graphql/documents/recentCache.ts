/** A map that keeps a fixed number of entries: those that were used most recently. */
export class RecentCache<V> {
  readonly #maximum: number;
  readonly #entries = new Map<string, V>();

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > this.#maximum && !oldest.done) this.#entries.delete(oldest.value);
  }
}
