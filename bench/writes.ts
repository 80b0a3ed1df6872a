import postgres from 'postgres';
import { openBenchDatabase } from './database.ts';
import { newId } from './ids.ts';

/** Inserts of single posts, each with its own commit: with the triggers that count, and on the copy that has none. */
export async function measureWrites(
  size: { users: number; posts: number },
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<string> {
  const database = await openBenchDatabase(size.users, size.posts);
  const lines = ['| clients | posts/s without counts | with | kept |', '|---|---|---|---|'];
  try {
    const {
      users: [author = ''],
    } = await database.sample();
    for (const clients of [1, 4, 16]) {
      const figures: { bare: number; counted: number }[] = [];
      for (let round = 0; round < rounds; round++)
        figures.push({
          bare: await insertFor(seconds, clients, database.floorUrl, author),
          counted: await insertFor(seconds, clients, database.url, author),
        });
      const { bare, counted } = figures.sort((a, b) => a.counted / a.bare - b.counted / b.bare)[
        figures.length >> 1
      ] ?? { bare: 0, counted: 0 };
      const kept = ((counted / bare) * 100).toFixed(0);
      lines.push(`| ${clients} | ${bare.toFixed(0)} | ${counted.toFixed(0)} | ${kept}% |`);
    }
  } finally {
    await database.close();
  }
  return lines.join('\n');
}

/** How many rows a second so many clients insert, each one after the other. */
async function insertFor(seconds: number, clients: number, url: string, author: string): Promise<number> {
  const sql = postgres(url, { max: clients, onnotice: () => {} });
  const end = Date.now() + seconds * 1000;
  let inserted = 0;
  const client = async () => {
    for (; Date.now() < end; inserted++)
      await sql`
        insert into posts (id, title, status, author_id, created_at, updated_at)
        values (${newId()}, 'a title', 'draft', ${author}, now(), now())`;
  };
  await Promise.all(Array.from({ length: clients }, client));
  await sql.end();
  return inserted / seconds;
}
