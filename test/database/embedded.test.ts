// runs: long, on embedded
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { openEmbedded } from '#src/database/embedded/embedded.ts';
import { openTestDatabase, testLog } from '#test/helper/database.ts';

t.test('a failed start releases the folder; the first says that it takes a few seconds', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'triport-embedded-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'postgres'), 'in the way');
  await t.rejects(openEmbedded({ folder }, testLog));
  rmSync(join(folder, 'postgres'));
  const said: string[] = [];
  const write = (line: string) => {
    t.notOk(existsSync(join(folder, 'postgres')), 'before the work');
    said.push(JSON.parse(line).msg);
  };
  for (let starts = 0; starts < 2; starts++)
    await (await openEmbedded({ folder }, pino({}, { write }))).close();
  t.same(said, [`A new database is created in ${folder}, which takes a few seconds.`]);
});

t.test('statements one after another let timers and requests in between', async t => {
  const { reads, writes } = await openTestDatabase(t);
  for (const db of [reads, writes]) {
    let hadTurn = false;
    setImmediate(() => {
      hadTurn = true;
    });
    for (let i = 0; i < 10; i++) await db.transaction(inside => inside.rows('select $1::int', [i]));
    t.ok(hadTurn);
  }
});
