import { EventEmitter, on } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { repeat } from '#src/database/repeat.ts';

type Options = Partial<Parameters<typeof repeat>[0]>;
type Check = PromiseWithResolvers<number | undefined>;
const hour = 3_600_000;

/** A watcher whose checks end when the test ends them. `next` waits until the next check begins. */
function watch(t: Test, options: Options = {}) {
  const lines: { level: number; msg: string; err?: object }[] = [];
  const log = pino({ base: null }, { write: line => void lines.push(JSON.parse(line)) });
  const events = new EventEmitter();
  const begun = on(events, 'check');
  let checks = 0;
  const check = () => {
    const running: Check = Promise.withResolvers();
    checks++;
    events.emit('check', running);
    return running.promise;
  };
  const watcher = repeat({ work: check, every: 1, log, away: 'Away.', back: 'Back.', ...options });
  t.teardown(() => void watcher.close());
  const next = async (): Promise<Check> => (await begun.next()).value?.[0];
  return { ...watcher, next, lines, checks: () => checks };
}

const error = new Error('No answer.');

t.test('going away and coming back are one line each, and no check begins while one runs', async t => {
  let resets = 0;
  const { next, lines, isAway, checks } = watch(t, { level: 'warn', onAway: () => resets++ });
  (await next()).resolve(undefined);
  for (let i = 0; i < 3; i++) (await next()).reject(error);
  const slow = await next();
  await sleep(20);
  t.equal(checks(), 5);
  t.equal(isAway(), true);
  slow.resolve(undefined);
  await next();
  t.equal(isAway(), false);
  t.match(lines, [
    { level: 40, msg: 'Away.', err: { message: 'No answer.' } },
    { level: 30, msg: 'Back.' },
  ]);
  t.equal(lines.length, 2);
  t.equal(resets, 1);
});

t.test(
  'what others notice counts at once, and only a check after a pause without failures ends it',
  async t => {
    const { next, lines, isAway, failed } = watch(t);
    let check = await next();
    failed(error);
    t.equal(isAway(), true);
    check.resolve(undefined);
    check = await next();
    t.equal(isAway(), true, 'it failed during the check');
    failed(error);
    check.resolve(undefined);
    check = await next();
    t.equal(isAway(), true, 'and again');
    check.resolve(undefined);
    await next();
    t.equal(isAway(), false);
    t.same(
      lines.map(({ level, msg }) => [level, msg]),
      [
        [50, 'Away.'],
        [30, 'Back.'],
      ],
    );
  },
);

t.test('a call ends the pause, also one that comes during the check', async t => {
  const { next, workNow } = watch(t, { every: hour });
  const first = await next();
  workNow();
  first.resolve(undefined);
  (await next()).resolve(undefined);
  await sleep(5);
  workNow();
  await next();
});

t.test('a call ends no pause that the check returned', async t => {
  const { next, workNow, checks } = watch(t);
  (await next()).resolve(hour);
  await sleep(5);
  workNow();
  await sleep(20);
  t.equal(checks(), 1);
});

t.test('while nothing can be learned no check begins, and no failure counts', async t => {
  let isBlind = true;
  const { next, lines, checks, isAway } = watch(t, { cannotTell: () => isBlind });
  await sleep(20);
  t.equal(checks(), 0);
  isBlind = false;
  const check = await next();
  isBlind = true;
  check.reject(error);
  await sleep(20);
  t.equal(checks(), 1);
  t.equal(isAway(), false);
  t.same(lines, []);
});

t.test('closing ends the pause at once, waits for a running check, and logs nothing more', async t => {
  const pausing = watch(t, { every: hour });
  (await pausing.next()).resolve(undefined);
  await sleep(5);
  await pausing.close();
  const { next, close, lines, checks } = watch(t);
  const check = await next();
  let isClosed = false;
  const closed = close().then(() => {
    isClosed = true;
  });
  await sleep(20);
  t.equal(isClosed, false);
  check.reject(error);
  await closed;
  t.equal(checks(), 1);
  t.same(lines, []);
});
