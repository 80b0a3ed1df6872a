import postgres, { type Sql } from 'postgres';
import { openBenchDatabase } from './database.ts';
import { newId } from './ids.ts';

/**
 * Inserts single posts, each in its own commit, with one connection per client: on the copy without triggers and with the
 * triggers that count, in turn for a second each. Connections are reused, as in a service: a new session needs 8 ms to
 * plan its first fold.
 */
export async function measureWrites(
  size: { users: number; posts: number },
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<string> {
  const database = await openBenchDatabase(size.users, size.posts);
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
