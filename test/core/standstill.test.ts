import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { afterAwake } from '#src/core/standstill.ts';

const standStill = (milliseconds: number) => {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
};

t.test('who waits gives up after its time, but not because the process stood still', async t => {
  let gaveUp = 0;
  afterAwake(100, () => gaveUp++);
  const stop = afterAwake(1000, () => t.fail('the answer came soon after the standstill'));
  standStill(2000);
  await sleep(50);
  stop();
  await sleep(1500);
  t.equal(gaveUp, 1);
});
