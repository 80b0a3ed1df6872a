import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { orm } from '../../src/database/connection.ts';
import { openEmbedded } from '../../src/database/embedded/embedded.ts';
import { select, testLog } from '../helper/database.ts';

// Each cold start takes seconds, more on a busy machine.
t.setTimeout(180_000);

function makeFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'triport-embedded-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
const insert = (i: number) =>
  sql`insert into users values (gen_random_uuid(), 'A', ${`${i}@example.com`}, now(), now())`;

t.test('a data folder has one owner at a time, and keeps every write that was answered', async t => {
  const folder = join(makeFolder(t), 'made', 'on the way');
  const first = await openEmbedded({ folder }, testLog);
  await first.ready;
  t.equal(first.available(), true);
  await t.rejects(openEmbedded({ folder }, testLog), { message: /^Another process uses the data folder/ });

  // Closed with work in flight, as when requests are cut off.
  const answered: number[] = [];
  const work = Array.from({ length: 30 }, (_, i) =>
    orm(first.writes)
      .execute(insert(i))
      .then(
        () => answered.push(i),
        () => {},
      ),
  );
  const transaction = first.writes
    .transaction(async tx => {
      await orm(tx).execute(insert(100));
      await orm(tx).execute(insert(101));
      answered.push(100, 101);
    })
    .catch(() => {});
  await first.close();
  t.equal(first.available(), false);
  await Promise.all([...work, transaction]);
  await t.rejects(first.ping());
  await t.resolves(first.close(), 'closing twice does no harm');

  const second = await openEmbedded({ folder }, testLog);
  t.teardown(() => second.close());
  const emails = (await select(second.writes, sql`select email from users`)).map(row => row.email);
  t.same(
    answered.filter(i => !emails.includes(`${i}@example.com`)),
    [],
  );
});

t.test('an unusable data folder is refused with the reason', async t => {
  const file = join(makeFolder(t), 'file');
  writeFileSync(file, 'not a folder');
  await t.rejects(openEmbedded({ folder: file }, testLog), { message: /EEXIST|ENOTDIR/ });
  const folder = makeFolder(t);
  mkdirSync(join(folder, 'owner.lock'));
  await t.rejects(openEmbedded({ folder }, testLog), { message: /^The data folder .* cannot be used: / });
});

t.test('a failed start releases the folder', async t => {
  const folder = makeFolder(t);
  writeFileSync(join(folder, 'postgres'), 'in the way');
  await t.rejects(openEmbedded({ folder }, testLog));
  rmSync(join(folder, 'postgres'));
  const database = await openEmbedded({ folder }, testLog);
  await database.close();
});
