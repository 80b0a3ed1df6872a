import { type Context, systemContext } from '../../core/context.ts';
import { setBounded } from '../../core/kept.ts';
import type { Log } from '../../core/log.ts';
import { watchService } from '../../core/watch.ts';
import type { Database } from '../../database/database.ts';
import { explain } from '../refusals.ts';
import type { Followed } from './followed.ts';
import { longest, type Page, readPage } from './pages.ts';
import { keyOf, type Position, positionGone } from './position.ts';

interface FeedDependencies {
  database: Database;
  log: Log;
  now: () => Date;
  /** How long the audit log is kept; 0 is for ever. */
  keptDays: number;
}

/** Milliseconds. */
const lookEvery = 1000;
/** Readers to whom nothing happens say then how far they are. */
const wakeEvery = 5000;
const day = 86_400_000;
const keptPages = 50;

/**
 * The committed changes of all resources, in the order of their commits. One look at the database serves all readers of
 * this process: after a commit, and each second in any case. While there is no reader it does not look.
 */
export class Feed {
  readonly followed: Followed[];
  readonly #dependencies: FeedDependencies;
  readonly #context: Context;
  readonly #readers = new Set<() => void>();
  /** The newest pages by the position before them. A reader that is further behind reads its own. */
  readonly #pages = new Map<string, Page>();
  #position: Position | undefined;
  #stop = () => {};
  #looking: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(followed: Followed[], dependencies: FeedDependencies) {
    this.followed = followed;
    this.#dependencies = dependencies;
    const { database, log, now } = dependencies;
    this.#context = systemContext({ db: database.reads, log, now }, 'changes', 'job');
  }

  /** Adds a reader, which is woken when there may be something for it; returns what removes it. */
  join(wake: () => void): () => void {
    this.#readers.add(wake);
    if (this.#readers.size === 1) this.#start();
    return () => {
      this.#readers.delete(wake);
      if (this.#readers.size === 0) this.#stop();
    };
  }

  /** Settles when all is known that was committed before the call. */
  look(): Promise<void> {
    // A look that has begun may have missed it; one that waits serves all who ask meanwhile.
    this.#next ??= this.#looking
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        this.#looking = this.#look();
        return this.#looking;
      });
    return this.#next;
  }

  /** The newest position; that of a reader who has read everything. */
  get position(): Position {
    if (!this.#position) throw positionGone();
    return this.#position;
  }

  /** The same position; with the time of now for who has read everything. */
  current(position: Position): Position {
    return keyOf(position) === keyOf(this.position) ? this.position : position;
  }

  /** The page after a position, and whether it is kept for all readers. Undefined when there is nothing new. */
  async pageAfter(position: Position): Promise<(Page & { isKept: boolean }) | undefined> {
    const key = keyOf(position);
    if (key === keyOf(this.position)) return undefined;
    const kept = this.#pages.get(key);
    if (kept) return { ...kept, isKept: true };
    const { seen, until } = this.position;
    this.#requireKept(position);
    const page = await readPage(this.#context, this.followed, position, until?.seen ?? seen);
    // It is ahead of the feed, which reads the same pages.
    return keyOf(page.to) === key ? undefined : { ...page, isKept: false };
  }

  /** Refuses a position whose next changes may have been trimmed. */
  #requireKept({ time }: Position): void {
    const { now, keptDays } = this.#dependencies;
    if (keptDays > 0 && time < now().getTime() - keptDays * day + longest) throw positionGone();
  }

  #start(): void {
    const { database, log } = this.#dependencies;
    const watch = watchService({
      check: () => this.look(),
      every: lookEvery,
      cannotTell: () => !database.available(),
      log,
      away: 'The changes of records cannot be read.',
      back: 'The changes of records are read again.',
    });
    const unfollow = database.announcements?.follow(() => void this.look().catch(() => {}));
    const timer = setInterval(() => this.#wake(), wakeEvery);
    this.#stop = () => {
      clearInterval(timer);
      void watch.close();
      unfollow?.();
      this.#position = undefined;
      this.#pages.clear();
    };
  }

  async #look(): Promise<void> {
    if (this.#readers.size === 0) return;
    const from = this.#position;
    const page = await readPage(this.#context, this.followed, from).catch(error => {
      if (explain(error).code !== 'gone') throw error;
      // The database was set back: readers learn it when they read, and new ones begin where it is now.
      this.#pages.clear();
      return readPage(this.#context, this.followed);
    });
    // All may have left meanwhile: the next one begins at its own time.
    if (this.#readers.size === 0) return;
    this.#position = page.to;
    if (!from || page.changes.length === 0) return;
    setBounded(this.#pages, keyOf(from), page, keptPages);
    this.#wake();
    if (page.to.until) await this.#look();
  }

  #wake(): void {
    for (const wake of this.#readers) wake();
  }
}
