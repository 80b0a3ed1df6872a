import fc from 'fast-check';
import t from 'tap';

interface Queue<T> {
  readonly length: number;
  push(x: T): T;
  shift(): T | undefined;
  remove(x: T): T | null;
}
// The queue is private to the driver. It holds connections, and statements that wait or were sent.
const file = new URL('../../../node_modules/postgres/src/queue.js', import.meta.url);
const { default: makeQueue } = (await import(file.href)) as { default: <T>() => Queue<T> };

t.test('the queue of the driver behaves like a list, whatever is done to it', async () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constant('push' as const) },
      { weight: 3, arbitrary: fc.constant('shift' as const) },
      { weight: 2, arbitrary: fc.nat(200) },
    ),
    { maxLength: 400, size: 'max' },
  );
  fc.assert(
    fc.property(steps, given => {
      const queue = makeQueue<{ made: number }>();
      const model: { made: number }[] = [];
      const all: { made: number }[] = [];
      return given.every(step => {
        if (step === 'push') {
          const item = { made: all.length };
          all.push(item);
          model.push(item);
          return queue.push(item) === item && queue.length === model.length;
        }
        if (step === 'shift') return queue.shift() === model.shift() && queue.length === model.length;
        // Any item ever made: it waits, or was taken, or was removed before.
        const item = all[step] ?? { made: -1 };
        const at = model.indexOf(item);
        if (at !== -1) model.splice(at, 1);
        return queue.remove(item) === (at === -1 ? null : item) && queue.length === model.length;
      });
    }),
    { numRuns: 300 },
  );
});

t.test('a search scans only the items that wait, however many have passed through', async t => {
  const queue = makeQueue<object>();
  const searched: number[] = [];
  const original = Array.prototype.indexOf;
  const pushNew = () => queue.push({});
  for (let i = 0; i < 50; i++) pushNew();
  Array.prototype.indexOf = function (this: unknown[], item: unknown, from?: number) {
    searched.push(this.length - (from ?? 0));
    return original.call(this, item, from);
  };
  try {
    for (let i = 0; i < 20_000; i++) {
      const item = pushNew();
      queue.shift();
      if (i % 100 === 0) {
        queue.remove(item);
        pushNew();
      }
    }
  } finally {
    Array.prototype.indexOf = original;
  }
  t.equal(queue.length, 50);
  t.equal(searched.length, 200);
  t.ok(Math.max(...searched) <= 60, `at most ${Math.max(...searched)} places were searched`);
});

t.test('items that have passed through are not kept', async t => {
  const queue = makeQueue<object>();
  const kept: number[] = [];
  const original = Array.prototype.push;
  Array.prototype.push = function (this: unknown[], ...items: unknown[]) {
    kept.push = original;
    kept.push(this.length);
    return original.apply(this, items);
  };
  try {
    for (let i = 0; i < 50; i++) queue.push({});
    for (let i = 0; i < 20_000; i++) {
      queue.push({});
      queue.shift();
    }
  } finally {
    Array.prototype.push = original;
  }
  t.equal(queue.length, 50);
  t.ok(Math.max(...kept) <= 200, `at most ${Math.max(...kept)} places were held for 50 items`);
});
