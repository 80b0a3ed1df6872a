import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Sample } from '#schemas/service/overview.ts';
import { Metrics } from '#src/telemetry/metrics.ts';
import { startSamples } from '#src/telemetry/samples.ts';
import { until } from '#test/rig/process.ts';

const minute = 60_000;
const none = { create: 0, change: 0, delete: 0 };

interface Choices {
  most?: number;
  isWorker?: boolean;
  /** The time of day at the start; it stands still unless it runs. */
  from?: string;
  runs?: boolean;
  countChanges?: (from: Date, to: Date) => Promise<Sample['changes']>;
}

/** Starts samples on metrics of their own, with a clock that the test moves. */
function start(t: Test, { from = '10:00:30.000', runs = false, countChanges, ...others }: Choices = {}) {
  const metrics = new Metrics();
  const begun = performance.now();
  let time = Date.parse(`2026-11-21T${from}Z`);
  const now = () => new Date(time + (runs ? performance.now() - begun : 0));
  const count = countChanges ?? (async () => none);
  const samples = startSamples({ metrics, now, isWorker: true, countChanges: count, ...others });
  t.teardown(samples.stop);
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  const answer = (status: number) =>
    metrics.countRequest({ method: 'GET', route: '/api/users', status }, 0.01);
  return { metrics, samples, pass, answer, now };
}

t.test('requests are counted by their answer, without those whose client left', async t => {
  const { samples, answer } = start(t);
  const statuses = [101, 200, 304, 400, 404, 409, 422, 401, 403, 403, 429, 499, 499, 500, 503];
  statuses.forEach(answer);
  const [running, ...others] = await samples.list();
  t.same(running?.requests, { succeeded: 3, refused: 4, denied: 3, limited: 1, failed: 2 });
  t.same(others, []);
});

t.test('a minute that is over is a full sample, and the next one begins at zero', async t => {
  const counted: string[][] = [];
  const countChanges = async (...times: Date[]) => {
    counted.push(times.map(time => time.toISOString().slice(11, 19)));
    return { ...none, create: counted.length };
  };
  const { samples, pass, answer } = start(t, { countChanges });
  answer(200);
  pass(minute);
  t.match(await samples.list(), [
    { at: '2026-11-21T10:00:00.000Z', requests: { succeeded: 1 }, changes: { create: 1 } },
    { at: '2026-11-21T10:01:00.000Z', requests: { succeeded: 0 }, changes: { create: 2 } },
  ]);
  answer(200);
  answer(404);
  pass(minute);
  t.match(await samples.list(), [
    // What was committed after the end of a minute is counted a minute later.
    { at: '2026-11-21T10:00:00.000Z', requests: { succeeded: 1, refused: 0 }, changes: { create: 3 } },
    { at: '2026-11-21T10:01:00.000Z', requests: { succeeded: 1, refused: 1 }, changes: { create: 4 } },
    { at: '2026-11-21T10:02:00.000Z', requests: { succeeded: 0, refused: 0 }, changes: { create: 5 } },
  ]);
  const [first, second, third] = ['10:00:00', '10:01:00', '10:02:00', '10:03:00'].map((from, i, all) => [
    from,
    all[i + 1],
  ]);
  t.same(counted, [first, second, first, second, third]);
});

t.test('only the latest minutes are kept', async t => {
  const { samples, pass } = start(t, { most: 3 });
  for (let i = 0; i < 5; i++) {
    await samples.list();
    pass(minute);
  }
  const times = (await samples.list()).map(({ at }) => at.slice(11, 16));
  t.same(times, ['10:02', '10:03', '10:04', '10:05']);
});

t.test('a minute ends by itself, at the full minute', async t => {
  const ends: number[] = [];
  const given = { from: '10:00:59.900', runs: true };
  const { samples, answer, now } = start(t, {
    ...given,
    countChanges: async () => {
      ends.push(now().getTime() % minute);
      return none;
    },
  });
  answer(200);
  await until('the minute is over', () => ends.length > 0);
  t.ok((ends[0] ?? minute) < 1000, `${ends[0]} ms after the full minute`);
  answer(200);
  t.match(await samples.list(), [{ requests: { succeeded: 1 } }, { requests: { succeeded: 1 } }]);
});

t.test('samples keep no process alive, and end when they are stopped', async t => {
  const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
  const before = timers();
  let counts = 0;
  const countChanges = async () => {
    counts++;
    return none;
  };
  const { samples } = start(t, { from: '10:00:59.950', runs: true, countChanges });
  t.equal(timers(), before);
  samples.stop();
  await sleep(150);
  t.equal(counts, 0);
});

t.test('a minute that ends while the database is slow is complete and comes once', async t => {
  const slow = Promise.withResolvers<void>();
  const countChanges = () => slow.promise.then(() => none);
  const { samples, pass, answer } = start(t, { countChanges });
  answer(200);
  pass(minute);
  const before = samples.list();
  await sleep(10);
  answer(200);
  pass(minute);
  const after = samples.list();
  await sleep(10);
  slow.resolve();
  const seen = (list: Sample[]) => list.map(({ at, requests }) => [at.slice(11, 16), requests.succeeded]);
  t.same(seen(await before), [
    ['10:00', 1],
    ['10:01', 0],
  ]);
  t.same(seen(await after), [
    ['10:00', 1],
    ['10:01', 1],
    ['10:02', 0],
  ]);
});

t.test('changes that cannot be counted are null, until they can be', async t => {
  let isAway = true;
  const countChanges = async () => {
    if (isAway) throw new Error('away');
    return none;
  };
  const { samples, pass } = start(t, { countChanges });
  pass(minute);
  t.match(await samples.list(), [{ changes: null }, { changes: null }]);
  isAway = false;
  pass(minute);
  t.match(await samples.list(), [{ changes: none }, { changes: none }, { changes: none }]);
  isAway = true;
  pass(minute);
  t.match(await samples.list(), [{}, { changes: none }, { changes: null }, { changes: null }]);
});

t.test('the time until an effect is estimated as Prometheus does, for the events of the minute', async t => {
  const { metrics, samples, pass, now } = start(t);
  const processed = (seconds: number, replays = 0) => {
    const createdAt = new Date(now().getTime() - seconds * 1000).toISOString();
    metrics.countProcessed([{ createdAt, replays }], now());
  };
  processed(100);
  pass(minute);
  await samples.list();
  for (let i = 0; i < 8; i++) processed(0.3);
  processed(2);
  processed(10);
  // The time of a replayed event would be that of its operator.
  processed(5000, 1);
  const [first, second] = await samples.list();
  t.match(first?.processing, { processed: 1, halfWithin: 180, mostWithin: 288 });
  // The fifth of eight between 0.25 and 0.5, and the middle of the one between 5 and 15.
  t.match(second?.processing, { processed: 11, halfWithin: 0.406, mostWithin: 10 });
  pass(minute);
  t.match((await samples.list()).at(-1)?.processing, { halfWithin: null, mostWithin: null });
  processed(1e6);
  t.match((await samples.list()).at(-1)?.processing, { halfWithin: 7200, mostWithin: 7200 });
});

t.test('what is open is that at the end of the minute', async t => {
  const { metrics, samples, pass } = start(t);
  const [empty] = await samples.list();
  t.same(empty?.connections, { streams: 0, reading: 0, writing: 0, idle: 0 });
  let streams = 3;
  metrics.watch('streams_open', 'x', () => streams);
  const states = new Map(Object.entries({ reading: 1, writing: 2, idle: 4 }));
  metrics.watch('database_connections', 'x', () => states, 'state');
  pass(minute);
  await samples.list();
  streams = 0;
  const [full, running] = await samples.list();
  t.same(full?.connections, { streams: 3, reading: 1, writing: 2, idle: 4 });
  t.equal(running?.connections.streams, 0);
});
