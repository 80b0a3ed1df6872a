import { count, eq, sql } from 'drizzle-orm';
import t from 'tap';
import { apiKeys, auditLog, posts, subscriptions, users, webhookEvents } from '../../drizzle/tables.ts';
import type { Orm } from '../../src/database/database.ts';
import { mapRows } from '../../src/database/rowMapper.ts';
import { openTestDatabase } from '../helper/database.ts';

interface Statement {
  prepare(name: string): { execute(): Promise<unknown[]> };
}

async function fillTables(db: Orm): Promise<void> {
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
    sql`insert into webhook_events (id, provider, fingerprint, status, failures, body, created_at, updated_at)
      values (${id(5)}, 'stripe', '\\x00ff', 'failed', '[{"attempt": 1, "at": "x", "error": "é"}]', '\\x7b7d00', ${times})`,
  );
  await db.execute(
    sql`insert into api_keys (id, name, scopes, created_at, secret_hash) values (${id(6)}, 'k', '{read,write}', now(), ${'0'.repeat(64)})`,
  );
}

t.test('rows are mapped to what Drizzle makes of them', async t => {
  const { orm: db } = await openTestDatabase(t);
  await fillTables(db);
  const tables = { users, posts, subscriptions, webhookEvents, apiKeys, auditLog };
  const statements: Record<string, Statement> = {
    ...Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, db.select().from(table)])),
    'a join': db.select().from(users).innerJoin(posts, eq(posts.authorId, users.id)),
    'a left join that finds nothing': db
      .select()
      .from(users)
      .leftJoin(posts, eq(posts.authorId, users.id))
      .orderBy(users.id),
    'a record beside a number': db.select({ total: sql`1::bigint`.mapWith(Number), user: users }).from(users),
    counts: db.select({ name: users.name, total: count() }).from(users).groupBy(users.name),
    'what a write returns': db.update(users).set({ name: 'X' }).returning(),
    nothing: db.select().from(users).where(sql`false`),
  };
  for (const [name, statement] of Object.entries(statements)) {
    const theirs = await statement.prepare(`their ${name}`).execute();
    const ours = await mapRows(statement.prepare(`our ${name}`)).execute();
    t.strictSame(ours, theirs, name);
  }
});
