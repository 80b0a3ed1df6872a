import type { Connection } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';

/** All in milliseconds. Commits with a notification share a lock, so notifications are few. */
const atMostEvery = 20;
const sayEvery = 1000;
const heardFor = 5000;

/**
 * Announces the writes of a database to the followers in all processes. Nothing is sent while nobody follows: a process
 * with followers says so every second.
 */
export function announced(database: Database): Database {
  const { messages } = database;
  const followers = new Set<() => void>();
  const tellFollowers = () => followers.forEach(look => void look());
  let lastHeard = Number.NEGATIVE_INFINITY;
  let isAnnouncing = false;
  messages?.onMessage('follow', () => {
    lastHeard = performance.now();
  });
  messages?.onMessage('write', tellFollowers);

  function announce<T>(result: T): T {
    const isFollowed = performance.now() - lastHeard < heardFor;
    if (isAnnouncing || (followers.size === 0 && !isFollowed)) return result;
    isAnnouncing = true;
    setTimeout(() => {
      isAnnouncing = false;
      tellFollowers();
      if (isFollowed) messages?.send('write').catch(() => {});
    }, atMostEvery).unref();
    return result;
  }
  const writes: Connection = {
    isTransaction: false,
    rows: async (...statement) => announce(await database.writes.rows(...statement)),
    transaction: async work => announce(await database.writes.transaction(work)),
  };
  function follow(look: () => void) {
    const say = () => void messages?.send('follow').catch(() => {});
    say();
    const timer = setInterval(say, sayEvery).unref();
    followers.add(look);
    return () => {
      clearInterval(timer);
      followers.delete(look);
    };
  }
  return { ...database, writes, follow };
}
