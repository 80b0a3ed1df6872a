import t from 'tap';
import { getTableColumns, getTableName, type PgTable, sql } from '../../drizzle/orm.ts';
import { apiKeys } from '../../drizzle/tables/apiKeys.ts';
import { auditLog } from '../../drizzle/tables/auditLog.ts';
import { posts } from '../../drizzle/tables/posts.ts';
import { subscriptions } from '../../drizzle/tables/subscriptions.ts';
import { users } from '../../drizzle/tables/users.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import { type Connection, orm } from '../../src/database/connection.ts';
import { statement } from '../../src/database/statements/statement.ts';
import { openTestDatabase } from '../helper/database.ts';

async function fillTables(writes: Connection): Promise<void> {
  const db = orm(writes);
  const id = (n: number) => sql`${`019aa5d0-0000-7000-8000-00000000000${n}`}::uuid`;
  const times = sql`'2026-11-21 09:30:00.5+00'::timestamptz, '1999-01-01'::timestamptz`;
  await db.execute(
    sql`insert into users select ${id(1)}, 'Ada', 'a@x.org', ${times} union all select ${id(2)}, 'Bob', 'b@x.org', ${times}`,
  );
  await db.execute(sql`insert into posts select ${id(3)}, 'One', 'draft', ${id(1)}, ${times}`);
  await db.execute(
    sql`insert into subscriptions values (${id(4)}, 'cus', 'stripe', 'active', null, ${times})`,
  );
  await db.execute(
    sql`insert into webhook_events (id, provider, preset, fingerprint, status, failures, body, created_at, updated_at)
      values (${id(5)}, 'stripe', 'stripe', '\\x00ff', 'failed', '[{"attempt": 1, "at": "x", "error": "é"}]', '\\x7b7d00', ${times})`,
  );
  await db.execute(
    sql`insert into api_keys (id, name, scopes, created_at, secret_hash) values (${id(6)}, 'k', '{read,write}', now(), ${'0'.repeat(64)})`,
  );
}

t.test('rows are mapped as Drizzle maps them', async t => {
  const { writes } = await openTestDatabase(t);
  await fillTables(writes);
  for (const table of [users, posts, subscriptions, webhookEvents, apiKeys, auditLog]) {
    const all = statement(getTableColumns<PgTable>(table), (builder, columns) =>
      builder.select(columns).from<PgTable>(table),
    );
    t.strictSame(await all(writes), await orm(writes).select().from<PgTable>(table), getTableName(table));
  }
});

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
