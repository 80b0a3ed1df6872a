import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { sharedCommits } from '../../src/webhooks/sharedCommits.ts';
import { noDatabase } from '../helper/noDatabase.ts';
import { outcome } from '../helper/servers/fakeServer.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

t.test('heavy keys share a group with fewer others, and the heaviest go alone', async t => {
  const groups: number[][] = [];
  const carry = sharedCommits(
    async (_db, keys: number[]) => {
      groups.push(keys);
      return keys;
    },
    key => key,
  );
  await Promise.all([150, 50, 1, 900, 20].map(key => carry(noDatabase, key)));
  t.same(groups, [[150, 50], [1], [900], [20]]);
});

t.test('no call joins a group that was sent, and a slow one does not hold up the next', async t => {
  const groups: { keys: string[]; gate: PromiseWithResolvers<void> }[] = [];
  const write = sharedCommits(
    async (_db, keys: string[]) => {
      const gate = Promise.withResolvers<void>();
      groups.push({ keys, gate });
      await gate.promise;
      return keys;
    },
    () => 1,
  );
  const first = write(noDatabase, 'a');
  await turn();
  const later = ['b', 'c'].map(key => write(noDatabase, key));
  await turn();
  t.same(
    groups.map(({ keys }) => keys),
    [['a']],
    'those that come meanwhile wait for it',
  );
  while (groups.length < 2) await turn();
  t.same(groups[1]?.keys, ['b', 'c'], 'but not for long');
  groups[1]?.gate.resolve();
  t.same(await Promise.all(later), ['b', 'c']);
  groups[0]?.gate.resolve();
  t.equal(await first, 'a');
  const last = write(noDatabase, 'd');
  while (groups.length < 3) await turn();
  groups[2]?.gate.resolve();
  t.equal(await last, 'd');
});

for (const code of ['55P03', '23514'])
  t.test(`a group that the database refuses with ${code} is tried one by one, all at once`, async t => {
    const end = Promise.withResolvers<void>();
    const sizes: number[] = [];
    const write = sharedCommits(
      async (_db, keys: number[]) => {
        sizes.push(keys.length);
        if (keys.length > 1) throw Object.assign(new Error('refused'), { code });
        // The first one waits until the last has begun.
        if (sizes.length === 1 + 8) end.resolve();
        await end.promise;
        return keys;
      },
      () => 1,
    );
    const answers = Promise.all(numbers(8).map(key => write(noDatabase, key)));
    t.equal(await outcome(answers), 'done', 'the first one does not hold up the others');
    end.resolve();
    t.same(await answers, numbers(8));
    t.same(sizes, [8, 1, 1, 1, 1, 1, 1, 1, 1]);
  });

t.test('without an answer every caller gets the error, and nothing is done twice', async t => {
  let calls = 0;
  const write = sharedCommits(
    async (_db, _keys: number[]) => {
      calls++;
      throw Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' });
    },
    () => 1,
  );
  const results = await Promise.allSettled(numbers(8).map(key => write(noDatabase, key)));
  t.ok(results.every(({ status }) => status === 'rejected'));
  t.equal(calls, 1);
});
