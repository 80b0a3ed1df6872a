import t from 'tap';
import { LockedOut } from '#src/database/databaseErrors.ts';
import { oneAtATime } from '#src/database/turns.ts';
import { inTransaction, write } from '#src/database/write.ts';
import { noDatabase } from '#test/helper/noDatabase.ts';

const refusal = (code: string) => Object.assign(new Error(code), { code });
const [locked, deadlock] = ['55P03', '40P01'];

t.test('a turn that a transaction needs in vain is waited for, with its own undone', async t => {
  const gate = Promise.withResolvers<void>();
  const user = { 'a user': oneAtATime };
  const first = write({ db: noDatabase }, () => gate.promise, user);
  const events: string[] = [];
  const keyed = inTransaction(
    { db: noDatabase },
    inside => {
      events.push('begun');
      return write(inside, async () => void events.push('written'), user);
    },
    { 'a key': oneAtATime },
  );
  await new Promise(setImmediate);
  t.same(events, ['begun']);
  gate.resolve();
  await Promise.all([first, keyed]);
  t.same(events, ['begun', 'begun', 'written']);
});

t.test(
  'a write around another one waits for its own turn, and the two try a lost race twice again',
  async t => {
    let attempts = 0;
    const lose = async () => {
      attempts++;
      throw refusal(deadlock);
    };
    const around = (work: () => Promise<unknown>) =>
      write({ db: noDatabase }, context => inTransaction(context, work), { 'a key': oneAtATime });
    await t.rejects(around(lose), { code: deadlock });
    t.equal(attempts, 3);
    const failures = [new LockedOut('a key'), new LockedOut('a key')];
    let inner = 0;
    const attempt = async () => {
      inner++;
      const failure = failures.shift();
      if (failure) throw failure;
    };
    let outer = 0;
    const context = { db: noDatabase };
    await write(
      context,
      context => {
        outer++;
        return inTransaction(context, attempt);
      },
      { 'a key': oneAtATime },
    );
    t.same([outer, inner], [3, 3], 'the inner one does not wait for it');
  },
);

t.test('a lost race is tried twice again, however often a lock was met before', async t => {
  const failures = [locked, deadlock, deadlock];
  const work = async () => {
    const code = failures.shift();
    if (code) throw refusal(code);
    return 'done';
  };
  t.equal(await write({ db: noDatabase }, work), 'done');
  failures.push(deadlock, deadlock, deadlock);
  await t.rejects(write({ db: noDatabase }, work), { code: deadlock });
});
