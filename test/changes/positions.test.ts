// runs: long
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { numberChanges, trimNumbers } from '#src/changes/numbers.ts';
import { lowestId, newId } from '#src/core/ids.ts';
import { recordWrites, trimAudit } from '#src/records/audit.ts';
import { openLog } from '#src/telemetry/log.ts';
import { inside } from '#test/helper/access.ts';
import { backend, hold } from '#test/helper/database.ts';
import { openFeed } from '#test/helper/eventStream.ts';
import { until } from '#test/rig/process.ts';

const skip = backend === 'embedded' && 'it has one session';
const day = 86_400_000;

t.test('a process that cannot number says so once, and goes on when it can', { skip }, async t => {
  const lines: { level: number; msg: string }[] = [];
  const log = openLog({ LOG_LEVEL: 'info' }, false, { write: line => void lines.push(JSON.parse(line)) });
  const { follow, newUser, database } = await openFeed(t, { log });
  const { next } = await follow();
  await next(1, () => true);
  const release = await hold(database, db => db.rows('select pg_advisory_xact_lock(7283453)', []));
  const { id } = await newUser();
  const said = () =>
    lines.filter(({ msg }) => msg.startsWith('The changes of records')).map(({ msg }) => msg);
  await until('it says so', () => said().length > 0, 20);
  await release();
  t.match(await next(1), [{ data: { id } }]);
  await until('it is back', () => said().length > 1, 20);
  t.same(said(), [
    'The changes of records cannot be numbered or read.',
    'The changes of records are numbered and read again.',
  ]);
});

t.test('an entry without a version is no change', async t => {
  const { follow, newUser, database } = await openFeed(t);
  const { next } = await follow();
  await next(1, () => true);
  await recordWrites(inside(database), 'user.change', [{ recordId: newId(Date.now()) }]);
  const { id } = await newUser();
  t.match(await next(1), [{ data: { id } }]);
});

t.test(
  'while readers follow, a database that is set back ends their streams, and new ones begin there',
  async t => {
    const { follow, newUser, database } = await openFeed(t);
    await newUser();
    const before = await follow();
    await before.next(1, () => true);
    // Another history has another entry at the number.
    await database.writes.rows(
      'update changes set entry = $1 where number = (select max(number) from changes)',
      [newId(Date.now())],
    );
    await sleep(1100);
    const fresh = await follow();
    await fresh.next(1, () => true);
    const { id } = await newUser();
    t.match(await fresh.next(1), [{ data: { id } }]);
    await before.ended;
    t.notOk(before.received.some(({ data }) => data?.id === id));
  },
);

t.test('a position is refused when the change at it is another one, or one after it is not kept', async t => {
  const { follow, newUser, database } = await openFeed(t);
  const at = (days: number) => new Date(Date.now() - days * day);
  const old: string[] = [];
  for (const [i, days] of [4, 3, 3, 0].entries()) {
    const id = lowestId(at(days)).replace(/0{12}$/, `00000000000${i + 1}`);
    await database.writes.rows(
      `insert into audit_log (id, created_at, action, record_id, changed, actor_kind, actor_name, transport, version)
      values ($1, $2, 'burrow.change', 'x', '{}', 'key', 'x', 'job', 2)`,
      [id, at(days).toISOString()],
    );
    old.push(await numberChanges(inside(database)));
  }
  const { id } = await newUser();
  const status = async (after = '') => {
    const { response, close } = await follow(`?after=${after}`);
    close();
    return response.status;
  };
  t.same(await Promise.all(old.map(status)), [200, 200, 200, 200]);
  const forged = {
    'another change': `2.${newId(Date.now())}`,
    'a later one': `7.${id}`,
    none: `999999999999999.${id}`,
  };
  for (const [why, after] of Object.entries(forged)) t.equal(await status(after), 410, why);
  const { response } = await follow(`?after=${forged.none}`);
  t.match(await response.json(), { error: { details: { code: 'gone' } } });
  t.equal(await trimAudit(inside(database), at(3.5)), 1);
  t.same(await Promise.all(old.map(status)), [200, 200, 200, 200], 'nothing after them is missing');
  t.equal(await trimAudit(inside(database), at(2)), 2);
  t.same(await Promise.all(old.map(status)), [410, 410, 200, 200]);
  t.equal(await trimNumbers(inside(database), at(2)), 3, 'with that of the beginning');
  t.same(await Promise.all(old.map(status)), [410, 410, 200, 200]);
  t.equal(await trimNumbers(inside(database), new Date('9999-01-01')), 0, 'the last number stays');
  const last = await newUser();
  const { next } = await follow(`?after=${old[3]}`);
  t.same(
    (await next(2)).map(({ data }) => data.id),
    [id, last.id],
  );
});
