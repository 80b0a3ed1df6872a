import t from 'tap';
import type { Connection } from '../../src/database/connection.ts';
import { inTransaction, write } from '../../src/database/write.ts';

const noDatabase: Connection = {
  isTransaction: false,
  rows: async () => [],
  transaction: work => work({ ...noDatabase, isTransaction: true }),
};
const refusal = (code: string) => Object.assign(new Error(code), { code });
const [locked, deadlock] = ['55P03', '40P01'];

/** Writes that run until they are ended, by name. */
function controlled() {
  const running = new Map<string, (code?: string) => void>();
  let most = 0;
  const begin = (name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    running.set(name, code => {
      running.delete(name);
      if (code === undefined) resolve();
      else reject(refusal(code));
    });
    most = Math.max(most, running.size);
    return promise;
  };
  const mostSince = () => {
    const value = most;
    most = running.size;
    return value;
  };
  return { running, begin, mostSince };
}
const turn = () => new Promise(setImmediate);
const names = (count: number) => Array.from({ length: count }, (_, i) => `${i}`);

t.test('shared turns: ten run at once, one after a lock was met, and ten again after a success', async t => {
  const { running, begin, mostSince } = controlled();
  const send = (name: string) => write({ db: noDatabase }, () => begin(name), { shared: ['posts of Ada'] });
  const writes = names(12).map(send);
  await turn();
  t.equal(running.size, 10);
  for (const end of [...running.values()]) end(locked);
  mostSince();
  while (running.size === 0) await turn();
  const later = names(30).map(name => send(`later ${name}`));
  await turn();
  t.equal(mostSince(), 1);
  let isDone = false;
  const all = Promise.all([...writes, ...later]).then(() => {
    isDone = true;
  });
  for (; !isDone; await turn()) for (const end of [...running.values()]) end();
  await all;
  t.equal(mostSince(), 10);
});

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

t.test('no attempt begins after the deadline', async t => {
  let attempts = 0;
  const work = async () => {
    attempts++;
    throw refusal(locked);
  };
  await t.rejects(write({ db: noDatabase, deadline: performance.now() - 1 }, work), { code: 'unavailable' });
  t.equal(attempts, 0);
  await t.rejects(write({ db: noDatabase, deadline: performance.now() + 50 }, work));
  t.ok(attempts > 0);
});
