import { systemContext } from '#src/access/context.ts';
import { setBounded } from '#src/core/kept.ts';
import type { Connection } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { explain } from '#src/database/databaseErrors.ts';
import { repeat } from '#src/database/repeat.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Followed } from './followed.ts';
import { type ChangePage, maxEntryLag, readPage } from './pages.ts';
import { type ChangePosition, positionGone, positionKey } from './position.ts';

interface FeedDependencies {
  database: Database;
  log: Log;
  now: () => Date;
  /** How long the audit log is kept; 0 is for ever. */
  keptDays: number;
}

/** Milliseconds between two looks, and until a look for a record that does not show yet. */
const [lookEvery, lookAgainAfter] = [1000, 50];
const day = 86_400_000;
const keptPages = 50;

/** Does the work of a reader when it is the turn of its account. */
export type RunCostly = (work: (db: Connection) => Promise<ChangePage>) => Promise<ChangePage>;

export type Feed = ReturnType<typeof makeFeed>;

/**
 * The committed changes of all resources, in the order of their commits. The feed looks at the database after a commit,
 * and each second in any case, once for all readers of this process. While there is no reader, it does not look.
 */
export function makeFeed(followed: Followed[], { database, log, now, keptDays }: FeedDependencies) {
  const context = systemContext({ db: database.reads, log, now }, 'changes', 'job');
  /** The functions that wake the readers. */
  const readers = new Set<() => void>();
  /** The newest pages by the position before them. A reader that is further behind reads its own. */
  const pages = new Map<string, ChangePage>();
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
      away: 'The changes of records cannot be read.',
      back: 'The changes of records are read again.',
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
    const from = newest;
    const page = await readPage(context, followed, from).catch(error => {
      if (explain(error).code !== 'gone') throw error;
      // The database went back to an earlier state. Readers get `gone` next, and new readers begin where it is now.
      pages.clear();
      return readPage(context, followed);
    });
    // All readers may have left meanwhile. `newest` stays empty: the next reader begins at its own time.
    if (readers.size === 0) return;
    newest = page.to;
    if (page.isCut) lookSoon();
    if (!from || page.changes.length === 0) return;
    setBounded(pages, positionKey(from), page, keptPages);
    for (const wake of readers) wake();
    if (page.to.until && !page.isCut) await lookNow();
  }

  /** The newest position. A reader who has read everything is there. */
  function position(): ChangePosition {
    if (!newest) throw positionGone();
    return newest;
  }

  const isNewest = (from: ChangePosition): boolean => positionKey(from) === positionKey(position());

  /** The same position. For a reader who has read everything, its time is that of the last look. */
  const current = (from: ChangePosition): ChangePosition => (isNewest(from) ? position() : from);

  /** The page after a position, and whether it is kept for all readers. Undefined when there is nothing new. */
  async function pageAfter(
    from: ChangePosition,
    onCostly: RunCostly,
  ): Promise<(ChangePage & { isKept: boolean }) | undefined> {
    const key = positionKey(from);
    const { seen, until } = position();
    if (key === positionKey(position())) return undefined;
    const kept = pages.get(key);
    if (kept) return { ...kept, isKept: true };
    // Changes after this position may have been trimmed.
    if (keptDays > 0 && from.time < now().getTime() - keptDays * day + maxEntryLag) throw positionGone();
    // Keeps other reads free: a position from long ago, or one that a client made up, is slow to look up.
    const page = await onCostly(db => readPage({ ...context, db }, followed, from, until?.seen ?? seen));
    if (page.isCut) lookSoon();
    // The position stays the same if the reader is ahead of the feed, or if a record is late.
    return positionKey(page.to) === key ? undefined : { ...page, isKept: false };
  }
  return { followed, join, look, position, isNewest, current, pageAfter };
}
