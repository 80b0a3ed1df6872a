import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { readSettings } from '../../src/config/settings.ts';
import type { Log } from '../../src/core/log.ts';
import type { Connection } from '../../src/database/connection.ts';
import type { Database } from '../../src/database/database.ts';
import { startFolding } from '../../src/database/totals.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { startWorker } from '../../src/webhooks/worker.ts';
import { openTestDatabase } from '../helper/database.ts';
import { until } from '../rig/process.ts';

const failure = (code: string) => Object.assign(new Error(`It failed with ${code}.`), { code });
const [permissionDenied, lockedOut, connectionLost] = ['42501', '55P03', 'CONNECTION_CLOSED'].map(failure);

/** The statements of work in the background, which fail as a test wants. */
function failing(database: Database) {
  const state = { error: undefined as Error | undefined, isAvailable: true, tries: 0 };
  const attempt = <T>(run: () => Promise<T>): Promise<T> => {
    state.tries++;
    return state.error ? Promise.reject(state.error) : run();
  };
  const writes: Connection = {
    ...database.writes,
    rows: (text, params) => attempt(() => database.writes.rows(text, params)),
    transaction: work => attempt(() => database.writes.transaction(work)),
  };
  return { state, database: { ...database, writes, available: () => state.isAvailable } };
}

const settings = readSettings({ NODE_ENV: 'test' });
const works = {
  'the folding of changes': {
    start: (database: Database, log: Log) => startFolding(database, log),
    ignored: [lockedOut, connectionLost],
    loops: 1,
    away: /^Changes cannot be folded/,
    back: /^Changes are folded .* again/,
  },
  'the worker of the queue': {
    start: (database: Database, log: Log) => {
      const parts = { settings, database, calls: { onCall: () => {} }, metrics: new Metrics(), log };
      const worker = startWorker(parts);
      return () => void worker.close();
    },
    ignored: [],
    loops: 3,
    away: /^The queue cannot be worked on/,
    back: /^The queue is worked on again/,
  },
};

for (const [name, { start, ignored, loops, away, back }] of Object.entries(works))
  t.test(`${name}: a failure is logged once, and its end; one that is expected is not`, async t => {
    const { state, database } = failing(await openTestDatabase(t));
    const lines: string[] = [];
    const counts = (pattern: RegExp) => lines.filter(msg => pattern.test(msg)).length;
    const triesAgain = async (times: number) => {
      const goal = state.tries + times * loops;
      await until('it is tried again', () => state.tries >= goal);
    };
    const log = pino({ level: 'info' }, { write: line => void lines.push(JSON.parse(line).msg) });
    t.teardown(start(database, log));
    for (const error of ignored) {
      state.error = error;
      await triesAgain(1);
    }
    t.same(lines, []);
    state.error = permissionDenied;
    await triesAgain(2);
    t.equal(counts(away), loops);
    state.isAvailable = false;
    state.error = undefined;
    const tries = state.tries;
    await sleep(1200);
    t.equal(state.tries, tries, 'no statement is sent while the database is away');
    t.equal(counts(back), 0);
    state.isAvailable = true;
    await until('it works again', () => counts(back) === loops);
    t.equal(lines.length, 2 * loops);
  });
