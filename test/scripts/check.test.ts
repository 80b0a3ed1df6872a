import { globSync, readFileSync } from 'node:fs';
import t from 'tap';
import { checkJournal, checkTables, type Entry, joined } from '#scripts/lib/journal.ts';

const entry = (tag: string, when: number): Entry => ({ idx: 0, tag, when });
const [first, second] = [entry('0000_first', 1), entry('0001_second', 2)];
const files = ['drizzle/migrations/0000_first.sql', 'drizzle/migrations/0001_second.sql'];

t.test('the times of migrations grow, also after a merge', async t => {
  checkJournal({ entries: [first, second] }, files);
  for (const when of [1, 2])
    t.throws(() => checkJournal({ entries: [first, second, entry('0002_merged', when)] }, files), {
      message: /0002_merged must be later/,
    });
});

t.test('the journal names the migrations that are there', async t => {
  t.throws(() => checkJournal({ entries: [first] }, files), {
    message: /0001_second.sql, which would never run/,
  });
  const entries = [first, second, entry('0002_gone', 3)];
  t.throws(() => checkJournal({ entries }, files), { message: /names 0002_gone, and there is no / });
});

t.test('a change of a table has its migration', async t => {
  await checkTables();
  const newest = globSync('drizzle/migrations/meta/*_snapshot.json').toSorted().at(-1) ?? '';
  const before = readFileSync(newest, 'utf8').replace('"isUnique": true', '"isUnique": false');
  await t.rejects(checkTables(before), { message: /drizzle\/tables has no migration yet/ });
});

/** Returns the journal after a merge of two branches that have added these entries to a first one. */
function merged(ours: Entry[], theirs: Entry[], base = ''): string {
  const text = (entries: Entry[]) => entries.map(entry => JSON.stringify(entry)).join(',\n');
  const first = JSON.stringify({ idx: 0, when: 100, tag: '0000_first' });
  return `{"version": "7", "entries": [\n${first},
<<<<<<< HEAD\n${text(ours)}\n${base}=======\n${text(theirs)}\n>>>>>>> payments\n]}\n`;
}

t.test('the migrations of two branches follow each other by their times, each once', async t => {
  const [both, early, late] = [
    { idx: 1, when: 200, tag: '0001_both' },
    { idx: 2, when: 300, tag: '0002_early' },
    { idx: 3, when: 500, tag: '0003_late' },
  ];
  const other = { idx: 2, when: 400, tag: '0002_other' };
  for (const base of ['', `||||||| 1234567\n${JSON.stringify(both)}\n`]) {
    const { entries, ...rest } = joined(merged([both, early, late], [both, other], base));
    t.same(rest, { version: '7' });
    t.same(
      entries.map(({ idx, tag }) => `${idx} ${tag}`),
      ['0 0000_first', '1 0001_both', '2 0002_early', '3 0002_other', '4 0003_late'],
    );
  }
});

t.test('of two migrations of one millisecond one is later: a database asks only for the newest', async t => {
  const text = merged([{ idx: 1, when: 200, tag: '0001_a' }], [{ idx: 1, when: 200, tag: '0001_b' }]);
  const times = joined(text).entries.map(({ when }) => when);
  t.same(times, [100, 200, 201]);
});
