// runs: on embedded, on postgres, on citus
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { OperatorError } from '#src/core/errors.ts';
import type { Connection } from '#src/database/connection.ts';
import { migrate, migrationState } from '#src/database/migrations/migrations.ts';
import { backend, hold, openTestDatabase } from '#test/helper/database.ts';
import { until } from '#test/rig/cluster/part.ts';

const own = join(import.meta.dirname, '../../drizzle/migrations');
const [phone, note] = [
  ['phone', 9_000_000_000_000, 'alter table users add phone text'],
  ['note', 9_000_000_000_001, 'alter table users add note text'],
] as const;
type Migration = readonly [tag: string, when: number, text: string];

/** A folder with the migrations of the service, followed by these. */
function folderWith(t: Test, added: readonly Migration[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'triport-migrations-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  cpSync(own, folder, { recursive: true });
  const file = join(folder, 'meta/_journal.json');
  const journal = JSON.parse(readFileSync(file, 'utf8'));
  for (const [tag, when, text] of added) {
    journal.entries.push({ idx: journal.entries.length, version: '7', when, tag, breakpoints: false });
    writeFileSync(join(folder, `${tag}.sql`), text);
  }
  writeFileSync(file, JSON.stringify(journal));
  return folder;
}

async function open(t: Test) {
  const database = await openTestDatabase(t);
  const db = database.writes;
  const warnings: string[] = [];
  const informed: string[] = [];
  const log = {
    warn: (text: string) => void warnings.push(text),
    info: (text: string) => void informed.push(text),
  } as never;
  const run = (...added: Migration[]) => migrate(db, log, { folder: folderWith(t, added) });
  const ran = async () =>
    (
      await db.rows(
        'select created_at from drizzle.__drizzle_migrations where created_at >= 9e12 order by id',
        [],
      )
    ).map(([when]) => Number(when) - phone[1]);
  return { database, db, run, ran, warnings, informed };
}

const columnsOf = async (db: Connection) =>
  (
    await db.rows(
      `select attname from pg_attribute where attrelid = 'users'::regclass and attname in ('phone', 'note', 'extra') order by 1`,
      [],
    )
  ).flat();

// Bug: such a migration never ran, and everything said that all was well.
for (const merged of [
  [phone, note],
  [note, phone],
])
  t.test(`a migration of another branch runs after a newer one (${merged.map(([tag]) => tag)})`, async t => {
    const { db, run, ran } = await open(t);
    await run(note);
    const folder = folderWith(t, merged);
    const { pending } = await migrationState(db, folder);
    t.same(
      pending.map(({ tag }) => tag),
      ['phone'],
    );
    await migrate(db, undefined, { folder });
    t.same(await columnsOf(db), ['note', 'phone']);
    t.same(await ran(), [1, 0]);
    const after = await migrationState(db, folder);
    t.match(after, { pending: { length: 0 }, edited: { length: 0 }, others: 0 });
  });

t.test('what is missing runs in the order of the journal', async t => {
  const { run, ran } = await open(t);
  await run(note, phone);
  t.same(await ran(), [1, 0]);
});

// Bug: a migration whose text had run before never ran.
t.test('a migration may do what an earlier one did, and another has undone', async t => {
  const { db, run, ran } = await open(t);
  const gone = ['gone', note[1] + 1, 'alter table users drop note'] as const;
  await run(note, gone);
  await run(note, gone, ['again', note[1] + 2, note[2]]);
  t.same(await columnsOf(db), ['note']);
  t.same(await ran(), [1, 2, 3]);
});

t.test('a migration that was edited since it ran is named, and nothing stops', async t => {
  const { db, run, warnings } = await open(t);
  await run(phone);
  t.same(warnings, []);
  await run(['phone', phone[1], `${phone[2]}; -- edited`], note);
  t.same(await columnsOf(db), ['note', 'phone']);
  t.same(warnings, ['Migrations were edited after they ran here: phone. Write a new one instead.']);
});

t.test('migrations of another release stop nothing', async t => {
  const { db, run } = await open(t);
  await run(phone, note);
  const folder = folderWith(t, [phone]);
  await migrate(db, undefined, { folder });
  t.match(await migrationState(db, folder), { pending: { length: 0 }, edited: { length: 0 }, others: 1 });
});

t.test('one that cannot be applied is named, and nothing of it is left', async t => {
  const { db, run, ran } = await open(t);
  const broken = ['broken', 9_000_000_000_002, 'alter table users add extra text; select 1 / 0'] as const;
  const failed = run(phone, broken, note);
  await t.rejects(failed, new OperatorError('The migration broken cannot be applied: division by zero'));
  t.same(await columnsOf(db), []);
  t.same(await ran(), []);
  await run(phone, note);
  t.same(await columnsOf(db), ['note', 'phone']);
});

t.test(
  'of two instances that start at once, one migrates',
  { skip: backend === 'embedded' && 'it has one process' },
  async t => {
    const { run, ran } = await open(t);
    await Promise.all([run(phone, note), run(phone, note), run(phone, note)]);
    t.same(await ran(), [0, 1]);
  },
);

/** Lets the clock that measures work go twenty times as fast. */
function hurry(t: Test): void {
  const now = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => now() * 20 });
}

const slow = ['slow', note[1] + 1, 'select pg_sleep(1.5)'] as const;
const after = ['after', note[1] + 2, 'select 1'] as const;

t.test('the log says how far migrations of minutes are, and nothing of those of seconds', async t => {
  const { run, informed } = await open(t);
  await run(phone, note);
  t.same(informed, []);
  hurry(t);
  await run(phone, note, slow, after);
  const [text = ''] = informed;
  // The embedded database lets nothing else run during a statement, so it is told after it.
  const expected =
    backend === 'embedded'
      ? /^Migration (slow: statement 1|after: statement 2) of 2 has run for \d+ s\.$/
      : /^Migration slow: statement 1 of 2 has run for \d\d+ s\.$/;
  t.match(text, expected);
});

t.test(
  'the log says that another instance migrates',
  { skip: backend === 'embedded' && 'it has one process' },
  async t => {
    const { database, run, ran, informed } = await open(t);
    hurry(t);
    const release = await hold(database, tx => tx.rows('select pg_advisory_xact_lock(7283451)', []));
    const running = run(phone);
    await until('it is said', () => informed.length > 0, 10);
    await release();
    await running;
    t.match(informed[0], /^Another instance migrates the database: waiting for \d+ s\.$/);
    t.same(await ran(), [0]);
  },
);
