import t from 'tap';
import { backend } from '#test/helper/database.ts';
import { burrows, foldAll, openSessions, type Session, watched, wrongLists } from './sessions.ts';

// The embedded database has one session.
const test = backend === 'postgres' ? t.test.bind(t) : t.skip.bind(t);

let made = 0;
/** Inserts specimens after all others, as the service does. */
function insertSpecimens(amount = 1): string {
  made += amount;
  return `insert into specimens (id, label, grade, burrow_id, created_at, updated_at)
    select ('0199aaaa-bbbb-7000-8000-' || lpad(to_hex(${made} - n), 12, '0'))::uuid, 'x', 'rough', '${burrows[0]}', now(), now()
    from generate_series(0, ${amount - 1}) as n`;
}
const fold = 'select list_fold(5000) as moved';
const waiting = `select count(*)::int as waiting from list_log`;

/** A session that fails instead of waiting for a lock. */
async function impatient(session: () => Session): Promise<Session> {
  const made = session();
  await made.run(`set lock_timeout = '1ms'`);
  return made;
}

test('no writer waits for a fold that is stuck in the middle (a bulk write stopped a server)', async t => {
  const session = await openSessions(t);
  const [stuck, writer] = [session(), await impatient(session)];
  await writer.run(insertSpecimens(100));
  await stuck.run('begin');
  t.same(await stuck.run(fold), [{ moved: 204 }]);
  for (let i = 0; i < 3; i++) {
    await writer.run(insertSpecimens(1000));
    await writer.run(`delete from specimens where id = (select max(id::text)::uuid from specimens)`);
    t.same(await writer.run(fold), [{ moved: 0 }]);
  }
  t.same(await wrongLists(writer, watched), []);
  await stuck.run('commit');
  t.same(await wrongLists(writer, watched), []);
  await foldAll(writer);
  t.same(await wrongLists(writer, watched), []);
});

test('folds beside an open transaction wait for nobody, and leave every snapshot exact', async t => {
  const session = await openSessions(t);
  const [writer, reader, folder] = [session(), session(), await impatient(session)];
  await writer.run('begin');
  await writer.run(insertSpecimens());
  await reader.run('begin isolation level repeatable read');
  t.same(await wrongLists(reader, watched), [], 'as an old snapshot sees it');
  for (let i = 0; i < 3; i++) {
    await folder.run(insertSpecimens(5000));
    await foldAll(folder);
    t.same(await folder.run(waiting), [{ waiting: 0 }]);
    await writer.run(insertSpecimens());
    t.same(await wrongLists(writer, watched), [], 'as the writer sees it');
    t.same(await wrongLists(reader, watched), [], 'as an old snapshot sees it');
    t.same(await wrongLists(folder, watched), []);
  }
  t.same(await writer.run(fold), [{ moved: 8 }], 'a transaction may fold what it has written');
  t.same(await wrongLists(writer, watched), []);
  t.same(await wrongLists(folder, watched), []);
  await writer.run('commit');
  t.same(await wrongLists(reader, watched), [], 'as an old snapshot sees it');
  t.same(await wrongLists(folder, watched), []);
});

test('truncate is refused with the reason under every isolation level', async t => {
  const { run } = (await openSessions(t))();
  for (const level of ['read committed', 'repeatable read', 'serializable']) {
    await run(`begin isolation level ${level}`);
    await t.rejects(run('truncate burrows, specimens cascade'), {
      message: /truncate \w+ would leave wrong totals: use delete/,
    });
    await run('rollback');
  }
});

test('a fold or a count that cannot see what others committed fails', async t => {
  const session = await openSessions(t);
  const [{ run }, other] = [session(), session()];
  await run('begin isolation level repeatable read');
  await run(waiting);
  await other.run(insertSpecimens());
  await foldAll(other);
  await t.rejects(run(fold), { code: '40001' });
  await run('rollback');
  await run('begin isolation level repeatable read');
  await t.rejects(run(`select list_repair('specimens')`), { message: /^Counting needs read committed/ });
  await run('rollback');
  t.same(await wrongLists(other, watched), []);
});
