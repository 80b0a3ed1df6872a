import t from 'tap';
import { inTransaction, write } from '../../src/database/write.ts';
import { noDatabase } from '../helper/noDatabase.ts';

const refusal = (code: string) => Object.assign(new Error(code), { code });
const [locked, deadlock] = ['55P03', '40P01'];

/** Writes that run until they are ended, by name. */
function controlled() {
  const running = new Map<string, (code?: string) => void>();
  const begin = (name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    running.set(name, code => {
      running.delete(name);
      if (code === undefined) resolve();
      else reject(refusal(code));
    });
    return promise;
  };
  return { running, begin };
}
const turn = () => new Promise(setImmediate);

t.test('a turn that a transaction needs in vain is waited for, with its own undone', async t => {
  const { running, begin } = controlled();
  const turns = ['a user'];
  const first = write({ db: noDatabase }, () => begin('first'), { turns });
  let attempts = 0;
  const keyed = inTransaction(
    { db: noDatabase },
    inside => {
      attempts++;
      return write(inside, () => begin('keyed'), { turns });
    },
    { turns: ['a key'] },
  );
  await turn();
  t.same([...running.keys()], ['first']);
  running.get('first')?.();
  await first;
  while (!running.has('keyed')) await turn();
  running.get('keyed')?.();
  await keyed;
  t.equal(attempts, 2);
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
