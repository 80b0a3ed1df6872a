import t from 'tap';
import { startPair } from '../../rig/pair.ts';
import { spawnService, until } from '../../rig/process.ts';

t.setTimeout(120_000);

/** Two servers, whatever they read before, decide by what is true when they write. */
t.test('a rule of a resource holds between two servers: a post only goes forward', async t => {
  const { authorId, databaseUrl, query } = await startPair(t);
  const env = { DATABASE_URL: databaseUrl };
  const servers = [1, 2].map(() => spawnService(t, env, [], 'test/rig/ruledServer.ts'));
  await until('both listen', () => servers.every(({ port }) => port > 0));
  const [first, second] = servers.map(({ url }) => url) as [string, string];
  const change = async (url: string, id: string, status: string) => {
    // With a title, there is always something to change.
    const body = JSON.stringify({ id, status, title: `By ${url} ${status}` });
    return (await fetch(url, { method: 'POST', body })).text();
  };
  const answers = new Set<string>();
  for (let round = 0; round < 40; round++) {
    const [row] = await query(
      `insert into posts (id, title, status, author_id, created_at, updated_at)
       values (gen_random_uuid(), 'Race', 'draft', '${authorId}', now(), now()) returning id`,
    );
    const id = String(row?.id);
    const [backward] = await Promise.all([change(first, id, 'draft'), change(second, id, 'published')]);
    answers.add(backward);
    const [after] = await query(`select status from posts where id = '${id}'`);
    t.equal(after?.status, 'published', `round ${round}`);
  }
  t.ok(
    [...answers].every(answer => ['draft', 'It is published.'].includes(answer)),
    `${[...answers]}`,
  );
});
