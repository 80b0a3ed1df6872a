// runs: also on embedded
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import type { Connection } from '#src/database/connection.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { openFeed } from '#test/helper/eventStream.ts';
import { fill } from '#test/helper/graphql.ts';

// Bug: after the database failed for a moment, a reader slept until the next change or heartbeat.
t.test('a reader that catches up goes on soon after a page could not be read', async t => {
  const database = await openTestDatabase(t);
  let pages = 0;
  const rows: Connection['rows'] = async (text, params) => {
    const isPage = /from "changes" .* order by/s.test(text);
    if (isPage && ++pages === 2) throw Object.assign(new Error(), { code: 'CONNECTION_CLOSED' });
    return database.costly.rows(text, params);
  };
  const { call, follow } = await openFeed(t, {
    database: { ...database, costly: { ...database.costly, rows } },
  });
  const first = await follow();
  const [before] = await first.next(1, ({ id }) => id !== undefined);
  first.close();
  // Waits until the service knows that the reader has left: until then it reads the pages for all.
  await sleep(500);
  await fill(database, 1, 150);
  await call('DELETE', '/api/burrows/019aa5d0-0001-7000-8000-000000000001?cascade=true', 204);
  pages = 0;
  const began = performance.now();
  const { next } = await follow(`?after=${before?.id}`);
  t.equal((await next(151)).at(-1)?.event, 'burrow.delete');
  t.ok(pages > 2, 'a page could not be read');
  t.ok(performance.now() - began < 10_000, 'it did not wait for the heartbeat');
});
