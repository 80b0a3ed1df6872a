import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { type Connection, orm } from '../../src/database/connection.ts';
import { openTestDatabase } from '../helper/database.ts';
import { openFeed } from '../helper/eventStream.ts';

// Bug: before the next change or heartbeat, nobody woke a reader that the database had failed for a moment.
t.test('a reader that catches up goes on soon after a page could not be read', async t => {
  const database = await openTestDatabase(t);
  let pages = 0;
  const rows: Connection['rows'] = async (text, params) => {
    const isPage = /"audit_log" where .* order by/s.test(text);
    if (isPage && ++pages === 2) throw Object.assign(new Error(), { code: 'CONNECTION_CLOSED' });
    return database.dear.rows(text, params);
  };
  const { call, newUser, follow } = await openFeed(t, {
    database: { ...database, dear: { ...database.dear, rows } },
  });
  const { id } = await newUser();
  const first = await follow();
  const [before] = await first.next(1, ({ id }) => id !== undefined);
  first.close();
  // Until the service knows: a reader that is there would have the pages read for all.
  await sleep(500);
  await orm(database.writes).execute(sql`insert into posts (id, title, author_id, created_at, updated_at)
    select gen_random_uuid(), 'x', ${id}, now(), now() from generate_series(1, 150)`);
  await call('DELETE', `/api/users/${id}?cascade=true`, 204);
  pages = 0;
  const began = performance.now();
  const { next } = await follow(`?after=${before?.id}`);
  t.equal((await next(151)).at(-1)?.event, 'user.delete');
  t.ok(pages > 2, 'a page could not be read');
  t.ok(performance.now() - began < 10_000, 'it did not wait for the heartbeat');
});
