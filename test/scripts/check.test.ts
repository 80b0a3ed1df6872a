import t from 'tap';
import { checkJournal, type Entry } from '../../scripts/lib/journal.ts';

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
