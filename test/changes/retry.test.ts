import t from 'tap';
import { anyone } from '../../src/core/actor.ts';
import { unavailable } from '../../src/core/errors.ts';
import type { Feed } from '../../src/services/changes/feed.ts';
import { follow } from '../../src/services/changes/follow.ts';

// Bug: before the next change or heartbeat, nobody woke a reader that the database had failed for a moment.
t.test('a reader that catches up goes on soon after a page could not be read', async t => {
  const position = { time: 1, seen: '1:1:' };
  const readAgain = Promise.withResolvers<void>();
  let reads = 0;
  const feed = {
    join: () => () => {},
    look: async () => {},
    current: () => position,
    pageAfter: async () => {
      reads++;
      if (reads === 2) throw unavailable();
      if (reads > 2) return readAgain.resolve();
      return { changes: [], to: position, isKept: false };
    },
  } as unknown as Feed;
  const ending = new AbortController();
  const follower = { caller: { actor: anyone }, signal: ending.signal, isBehind: false };
  const sent = { in: 'query', path: '/after', text: '1.1:1:' } as const;
  const news = follow(feed, follower, { resources: [], filters: {} }, sent);
  await news.next();
  const heartbeat = news.next();
  await Promise.race([readAgain.promise, heartbeat]);
  t.equal(reads, 3, 'it did not wait for the heartbeat');
  ending.abort();
  await heartbeat;
});
