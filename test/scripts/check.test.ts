import t from 'tap';
import { checkJournal } from '../../scripts/check.ts';

t.test('the times of migrations grow, also after a merge', async t => {
  const [first, second] = [
    { tag: '0000_first', when: 1 },
    { tag: '0001_second', when: 2 },
  ] as const;
  checkJournal([first, second]);
  for (const when of [1, 2])
    t.throws(() => checkJournal([first, second, { tag: '0002_merged', when }]), {
      message: /0002_merged must be later/,
    });
});
