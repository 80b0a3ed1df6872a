import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { Budget } from '#src/access/limits/budget.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

t.test(
  'operations with many values go on in turns of the event loop, one account after the other; others have as long between',
  async t => {
    const order: string[] = [];
    let ended = 0;
    const goOn = async (name: string, values: number) => {
      const payer = { account: { name }, deadline: performance.now() + 10_000, hasLeft: () => false };
      const budget = new Budget({ ...payer, charge: async () => {} } as never);
      await budget.spend(1, values);
      await budget.ownTurn({ db: {} as never });
      order.push(`${name}${values > 2500 ? '' : ' small'}`);
      if (values <= 2500) return;
      const began = performance.now();
      // Each turn blocks the event loop for 40 ms, then leaves it to others for as long, less the rounding of timers.
      if (ended > 0) t.ok(began - ended > 38, `${name} left ${began - ended} ms to others`);
      while (performance.now() - began < 40);
      ended = performance.now();
    };
    await Promise.all([...['A', 'A', 'A', 'B'].map(name => goOn(name, 3000)), goOn('C', 100)]);
    t.same(order, ['C small', 'A', 'A', 'B', 'A']);
  },
);

// Bug: a query that read too many records paid only its estimate, so it could be repeated at once.
t.test('records that are too many are paid for', async t => {
  const charged: number[] = [];
  const payer = { deadline: Number.POSITIVE_INFINITY, hasLeft: () => false };
  const charge = async (points: number) => void charged.push(points);
  const budget = new Budget({ ...payer, charge } as never, 20);
  await budget.spend(2001, 0);
  t.throws(() => budget.spend(49_005, 0), { message: /^Too many records: 51006/ });
  t.same(charged, [1, 490]);
});

// Bug: promises of an operation that had waited were old, and kept its records until the whole heap was collected.
t.test('a budget does not keep what was read', async t => {
  const budget = new Budget({ deadline: Number.POSITIVE_INFINITY, hasLeft: () => false } as never);
  const read = new WeakRef(await budget.inSequence(async () => ({})));
  await sleep(1);
  collectGarbage();
  t.equal(read.deref(), undefined);
  budget.check();
});
