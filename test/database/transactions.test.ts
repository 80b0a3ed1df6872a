// runs: also on embedded
import t from 'tap';
import type { Connection } from '#src/database/connection.ts';
import { openTestDatabase } from '#test/helper/database.ts';

t.test(
  'what a transaction leaves behind cannot use its connection, which may be that of another',
  async t => {
    const database = await openTestDatabase(t);
    for (const ends of ['commits', 'rolls back']) {
      const kept = await database.writes
        .transaction(async inside => {
          await inside.rows('select 1', []);
          if (ends === 'rolls back') throw Object.assign(new Error('undone'), { inside });
          return inside;
        })
        .catch(({ inside }) => inside as Connection);
      await t.rejects(kept.rows('select 1', []), { message: /ended|closed/ }, ends);
    }
  },
);
