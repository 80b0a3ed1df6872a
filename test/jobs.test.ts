// runs: long
import { pino } from 'pino';
import t from 'tap';
import { readSettings } from '#src/config/settings.ts';
import { lowestId, newId } from '#src/core/ids.ts';
import { users } from '#src/domain/users.ts';
import { type Job, refuseWrongJobs, startJobs } from '#src/jobs.ts';
import { openMetrics } from '#src/process/metrics.ts';
import { openCalls } from '#src/webhooks/calls.ts';
import { build } from './helper/app.ts';
import { openTestDatabase } from './helper/database.ts';
import { newPerson } from './helper/resources/records.ts';
import { until } from './rig/process.ts';
import { domain } from './world/index.ts';

/** A worker with one job, and the lines that it logs. The statements run before it starts. */
async function work(run: Job['run'], every: number, statements: string[] = []) {
  const database = await openTestDatabase(t);
  for (const text of statements) await database.writes.rows(text, []);
  const lines: { level: number; msg: string }[] = [];
  const log = pino({}, { write: line => void lines.push(JSON.parse(line)) });
  const settings = readSettings({ NODE_ENV: 'test', AUDIT_RETENTION_DAYS: '7' });
  const jobs = startJobs(
    { settings, database, log, calls: openCalls(database), metrics: openMetrics(database) },
    { ...domain, jobs: [{ name: 'greet', every, run }] },
  );
  t.teardown(() => jobs.close());
  return { database, lines, jobs };
}

t.test('a job calls services as its own actor, with the settings, and again after its pause', async t => {
  const days: number[] = [];
  const run: Job['run'] = async (context, { AUDIT_RETENTION_DAYS }) => {
    days.push(AUDIT_RETENTION_DAYS);
    if (days.length === 1) await users.create(context, newPerson());
  };
  const { database, jobs } = await work(run, 0.05);
  await until('it ran three times', async () => days.length >= 3);
  await jobs.close();
  const ran = days.length;
  t.same(new Set(days), new Set([7]));
  const { call } = await build(t, { database });
  const { data } = (await call('GET', '/api/audit?action=user.create', 200)).body;
  t.match(data, [{ actorKind: 'system', actorName: 'greet', transport: 'job' }]);
  t.equal(days.length, ran, 'not after the end of the worker');
});

t.test('a job that fails is tried again, and the log says so once', async t => {
  let tries = 0;
  const run = async () => {
    if (++tries < 3) throw new Error('Nobody is there.');
  };
  const { lines } = await work(run, 3600);
  await until('it succeeds', async () => lines.some(({ msg }) => /done again/.test(msg)), 60);
  t.equal(tries, 3);
  t.same(
    lines.filter(({ msg }) => msg.includes('greet')).map(({ msg }) => msg),
    ['The job "greet" fails.', 'The job "greet" is done again.'],
  );
});

t.test('changes are numbered while nobody follows, and old numbers are trimmed', async t => {
  const [old, late, young] = [lowestId(new Date(0)), lowestId(new Date(1)), newId(Date.now())];
  const insert = `insert into changes values (1, '${old}', null), (2, '${late}', null), (3, '${young}', (0, '{}', '{}', '0'))`;
  const create: Job['run'] = async context => void (await users.create(context, newPerson()));
  const { database, lines } = await work(create, 3600, [insert]);
  await until('old ones are trimmed', () => lines.some(({ msg }) => msg === 'Trimmed 2 numbers of changes.'));
  const numbers = async () =>
    (await database.reads.rows('select number from changes order by number', [])).flat().map(Number);
  await until('the change is numbered', async () => (await numbers()).includes(4), 30);
  t.same(await numbers(), [2, 3, 4]);
});

t.test('at the end, a job is told, and not waited for if it goes on', async t => {
  let signal: AbortSignal | undefined;
  const { jobs } = await work((_context, _settings, ends) => {
    signal = ends;
    return new Promise(() => {});
  }, 1);
  await until('it runs', async () => signal !== undefined);
  t.equal(signal?.aborted, false);
  await jobs.close();
  t.equal(signal?.aborted, true);
});

t.test('a pause that no timer of Node can wait for is refused, and a second job of one name', async t => {
  const job = { name: 'greet', every: 1, run: async () => {} };
  for (const every of [0, -1, Number.NaN, 30 * 24 * 3600])
    t.throws(() => refuseWrongJobs([{ ...job, every }]), {
      message: "The pause of the job 'greet' must be above 0 and at most 2147483 seconds.",
    });
  t.throws(() => refuseWrongJobs([job, job]), { message: "Two jobs have the name 'greet': rename a job." });
  refuseWrongJobs([job, { ...job, name: 'part' }]);
});
