import { systemContext } from '#src/access/context.ts';
import { setBounded } from '#src/core/kept.ts';
import type { Connection } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { explain } from '#src/database/databaseErrors.ts';
import { repeat } from '#src/database/repeat.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Followed } from './followed.ts';
import { numberChanges } from './numbers.ts';
import { type ChangePage, readPage } from './pages.ts';
import { type ChangePosition, positionGone } from './position.ts';

interface FeedDependencies {
  database: Database;
  log: Log;
  now: () => Date;
}

/** Milliseconds between two looks, and until a look for a record that does not show yet. */
const [lookEvery, lookAgainAfter] = [1000, 50];
const keptPages = 50;

/** Does the work of a reader when it is the turn of its account. */
export type RunCostly = (work: (db: Connection) => Promise<ChangePage>) => Promise<ChangePage>;

export type Feed = ReturnType<typeof makeFeed>;

/**
 * The committed changes of all resources, in the order of their numbers. The feed looks at the database after a commit,
 * and each second in any case, once for all readers of this process. While there is no reader, it does not look.
 */
export function makeFeed(followed: Followed[], { database, log, now }: FeedDependencies) {
  const context = systemContext({ db: database.reads, log, now }, 'changes', 'job');
  const numberingContext = { ...context, db: database.upkeep };
  /** The functions that wake the readers. */
  const readers = new Set<() => void>();
  /** The newest pages by the position before them. A reader that is further behind reads its own. */
  const pages = new Map<ChangePosition, ChangePage>();
  let newest: ChangePosition | undefined;
  let stop = () => {};
  let looking: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  let soon: NodeJS.Timeout | undefined;

  /** Adds a reader, which is woken when there may be changes for it; returns the function that removes it. */
  function join(wake: () => void): () => void {
    readers.add(wake);
    if (readers.size === 1) start();
    return () => {
      readers.delete(wake);
      if (readers.size === 0) stop();
    };
  }

  function start(): void {
    const watch = repeat({
      work: look,
      every: lookEvery,
      cannotTell: () => !database.available(),
      log,
      away: 'The changes of records cannot be numbered or read.',
      back: 'The changes of records are numbered and read again.',
    });
    const unfollow = database.follow?.(() => void look().catch(() => {}));
    stop = () => {
      void watch.close();
      unfollow?.();
      newest = undefined;
      pages.clear();
    };
  }

  /** Settles when everything that was committed before the call is known. */
  function look(): Promise<void> {
    // A look that has begun may have missed a commit. The look that waits for it serves all who ask meanwhile.
    next ??= looking
      .catch(() => {})
      .then(() => {
        next = undefined;
        looking = lookNow();
        return looking;
      });
    return next;
  }

  /** Looks again a little later, and wakes all readers: a record that does not show yet holds nobody up. */
  function lookSoon(): void {
    if (soon) return;
    soon = setTimeout(() => {
      soon = undefined;
      const wakeAll = () => readers.forEach(wake => void wake());
      look().then(wakeAll, wakeAll);
    }, lookAgainAfter).unref();
  }

  async function lookNow(): Promise<void> {
    if (readers.size === 0) return;
    const last = await numberChanges(numberingContext);
    const from = newest ?? last;
    const page = await readPage(context, followed, from, last).catch((error): ChangePage => {
      if (explain(error).code !== 'gone') throw error;
      // The database went back to an earlier state. Readers get `gone` next, and new readers begin where it is now.
      pages.clear();
      return { changes: [], to: last };
    });
    // All readers may have left meanwhile. `newest` stays empty: the next reader begins at its own time.
    if (readers.size === 0) return;
    newest = page.to;
    if (page.isCut) lookSoon();
    if (page.changes.length === 0) return;
    setBounded(pages, from, page, keptPages);
    for (const wake of readers) wake();
    if (newest !== last && !page.isCut) await lookNow();
  }

  /** The newest position. A reader who has read everything is there. */
  function position(): ChangePosition {
    if (!newest) throw positionGone();
    return newest;
  }

  /** The page after a position, and whether it is kept for all readers. Undefined when there is nothing new. */
  async function pageAfter(
    from: ChangePosition,
    onCostly: RunCostly,
  ): Promise<(ChangePage & { isKept: boolean }) | undefined> {
    if (from === position()) return undefined;
    const kept = pages.get(from);
    if (kept) return { ...kept, isKept: true };
    // Keeps other reads free of those who catch up.
    const page = await onCostly(db => readPage({ ...context, db }, followed, from, position()));
    if (page.isCut) lookSoon();
    // There is none if the reader is ahead of the feed, or if a record is late.
    return page.changes.length === 0 ? undefined : { ...page, isKept: false };
  }
  return { followed, join, look, position, pageAfter };
}
