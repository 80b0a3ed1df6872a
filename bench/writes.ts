import { pino } from 'pino';
import postgres, { type Sql } from 'postgres';
import { openPostgres } from '../src/database/postgres/postgres.ts';
import { startFolding } from '../src/database/totals.ts';
import { openBenchDatabase } from './database.ts';
import { newId } from './ids.ts';

/**
 * Inserts single posts, each in its own commit, with one connection per client: on the copy without triggers and with the
 * triggers that log changes, which are folded meanwhile as in a service; in turn for a second each.
 */
export async function measureWrites(
  size: { users: number; posts: number },
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<string> {
  const database = await openBenchDatabase(size.users, size.posts);
  const log = pino({ level: 'warn' });
  const folding = openPostgres({ url: database.url, connections: 1 }, log);
  const stopFolding = startFolding(folding, log);
  const lines = ['| clients | posts/s without counts | with | kept |', '|---|---|---|---|'];
  try {
    const { users } = await database.sample();
    for (const clients of [1, 4, 16]) {
      const bare = postgres(database.floorUrl, { max: clients, onnotice: () => {} });
      const counted = postgres(database.url, { max: clients, onnotice: () => {} });
      await insertFor(2, clients, bare, users);
      await insertFor(2, clients, counted, users);
      const pairs: { bare: number; counted: number }[] = [];
      while (pairs.length < rounds * seconds)
        pairs.push({
          bare: await insertFor(1, clients, bare, users),
          counted: await insertFor(1, clients, counted, users),
        });
      await Promise.all([bare.end(), counted.end()]);
      const middle = (figures: number[]) => figures.sort((a, b) => a - b)[figures.length >> 1] ?? 0;
      const kept = middle(pairs.map(pair => (pair.counted / pair.bare) * 100));
      const rates = [middle(pairs.map(pair => pair.bare)), middle(pairs.map(pair => pair.counted))];
      lines.push(`| ${clients} | ${rates.map(Math.round).join(' | ')} | ${kept.toFixed(0)}% |`);
    }
  } finally {
    stopFolding();
    await folding.close();
    await database.close();
  }
  return lines.join('\n');
}

/** The rows per second that clients insert, each client one row at a time, with alternating authors. */
async function insertFor(seconds: number, clients: number, sql: Sql, authors: string[]): Promise<number> {
  const end = Date.now() + seconds * 1000;
  let inserted = 0;
  const client = async () => {
    while (Date.now() < end) {
      const author = authors[inserted++ % authors.length] ?? '';
      await sql`
        insert into posts (id, title, status, author_id, created_at, updated_at)
        values (${newId()}, 'a title', 'draft', ${author}, now(), now())`;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return inserted / seconds;
}
