import t from 'tap';
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
