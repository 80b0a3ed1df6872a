import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { backend } from '../../helper/database.ts';
import { outcome, watchUncaught } from '../../helper/servers/fakeServer.ts';
import { holdSockets, makeClient } from './client.ts';

/** The numbers are issues and pull requests of github.com/porsager/postgres; see docs/decisions/08-postgres-driver.md. */
const onPostgres = backend === 'postgres' ? {} : { skip: 'needs a server: node scripts/test.ts postgres' };

t.test(
  'after a lost connection every statement settles, no error is uncaught, and the pool is complete',
  onPostgres,
  async t => {
    const { sql, backends, terminate } = await makeClient(t, { max: 4 });
    const uncaught = watchUncaught(t);

    for (let round = 0; round < 3; round++) {
      const settled: string[] = [];
      const transactions = [1, 2, 3].map(() =>
        sql
          .begin(async tx => {
            await tx`select 1`;
            await sleep(100);
            // These are queued together after the loss, and one follows alone.
            await Promise.allSettled([tx`select 2`, tx`select 3`, tx`select ${'x'.repeat(2000)}`]);
            await tx`select 4`;
          })
          .then(
            () => settled.push('done'),
            () => settled.push('refused'),
          ),
      );
      const singles = Array.from({ length: 60 }, (_, i) =>
        sql`select pg_sleep(0.02), ${i}::int`.then(
          () => settled.push('done'),
          () => settled.push('refused'),
        ),
      );
      await sleep(50);
      await terminate();
      await Promise.race([Promise.all([...transactions, ...singles]), sleep(10_000)]);
      t.equal(settled.length, 63, 'every statement settles');
      t.ok(settled.includes('refused'));
    }
    await sleep(50);
    t.same(uncaught, []);

    const pids = await Promise.all(
      [1, 2, 3, 4].map(() =>
        sql.begin(async tx => {
          const [row] = await tx`select pg_backend_pid() as pid`;
          await sleep(200);
          return row?.pid;
        }),
      ),
    );
    t.equal(new Set(pids).size, 4, 'four transactions at once on four connections');
    t.equal((await backends()).length, 4);
  },
);

t.test(
  'a transaction that lost its connection never continues on another one: #1216',
  onPostgres,
  async t => {
    const { sql, terminate, notes } = await makeClient(t, { max: 1 });
    const later: string[] = [];
    const transaction = sql.begin(async tx => {
      await tx`insert into notes values ('A')`;
      await terminate();
      await sleep(100);
      // The pool has reconnected: this is not the connection of the transaction.
      await sql`select 1`;
      await tx`insert into notes values ('B')`.then(
        () => later.push('stored'),
        error => later.push(error.code),
      );
    });
    await t.rejects(transaction, { code: 'CONNECTION_CLOSED' });
    for (let i = 0; i < 200 && later.length === 0; i++) await sleep(20);
    t.same(later, ['CONNECTION_CLOSED']);
    t.same(await notes(), []);
  },
);

t.test('the queued statements of a transaction fail with its connection: #1186', onPostgres, async t => {
  const { sql, terminate } = await makeClient(t, { max: 1 });
  const codes: string[] = [];
  const transaction = sql.begin(async tx => {
    // A statement whose types the driver must look up first has the connection to itself.
    const works = [tx`select pg_sleep(5), ${1}::int`, tx`select 2`, tx`select 3`].map(work => outcome(work));
    await sleep(100);
    await terminate();
    codes.push(...(await Promise.all(works)));
  });
  t.match(await outcome(transaction), /^(57P01|CONNECTION_CLOSED)$/);
  for (let i = 0; i < 300 && codes.length === 0; i++) await sleep(20);
  t.equal(codes.length, 3);
  for (const code of codes) t.match(code, /^(57P01|CONNECTION_CLOSED)$/);
});

t.test(
  'a transaction that begins at the end of a full pipeline has its connection to itself: #1189',
  onPostgres,
  async t => {
    const { sql, backends, notes } = await makeClient(t, { max: 1, max_pipeline: 3 });
    await sql`select 1`;
    for (let before = 0; before < 6; before++) {
      const work = [sql`select pg_sleep(0.05)`.execute()] as PromiseLike<unknown>[];
      for (let i = 0; i < before; i++) work.push(sql`select ${i}::int`.execute());
      work.push(
        sql.begin(async tx => {
          await tx`insert into notes values (${`inside ${before}`})`;
        }),
      );
      work.push(sql`insert into notes values (${`outside ${before}`})`.execute());
      await Promise.all(work);
    }
    t.equal((await notes()).length, 12);
    t.match(await backends(), [{ state: 'idle' }]);
  },
);

t.test(
  'a statement that cannot be built fails alone, and answers stay with their statements: #1082',
  onPostgres,
  async t => {
    const { sql } = await makeClient(t, { max: 1 });
    await sql`select 1`;
    const first = sql`select pg_sleep(0.1), 'first' as text`.execute();
    const wrong = sql.unsafe('select $1::text as text', [undefined as unknown as string]).execute();
    const next = sql`select 'next' as text`.execute();
    const last = sql`select 'last' as text`.execute();
    const settled = Promise.allSettled([first, wrong, next, last]);
    t.match(await Promise.race([settled, sleep(5000)]), [
      { value: [{ text: 'first' }] },
      { status: 'rejected', reason: { code: 'UNDEFINED_VALUE' } },
      { value: [{ text: 'next' }] },
      { value: [{ text: 'last' }] },
    ]);
  },
);

t.test(
  'a drained socket does not let other statements into an open transaction: pull request #1207',
  onPostgres,
  async t => {
    const held = holdSockets();
    const { sql, notes } = await makeClient(t, { max: 1, socket: held.open });
    let other: PromiseLike<unknown> | undefined;
    const transaction = sql.begin(async tx => {
      await tx`insert into notes values ('rolled back')`;
      held.sockets.at(-1)?.emit('drain');
      other = sql`insert into notes values ('of another')`.execute();
      await sleep(100);
      throw new Error('roll back');
    });
    await t.rejects(transaction, { message: 'roll back' });
    await other;
    t.same(await notes(), ['of another']);
  },
);

t.test(
  'a statement sent between the error of a connection and its close settles, and answers stay with their statements: #1215',
  onPostgres,
  async t => {
    const held = holdSockets();
    const { sql } = await makeClient(t, { max: 1, socket: held.open });
    for (let round = 0; round < 3; round++) {
      await sql`select 1`;
      const again = sql`select pg_sleep(5)`.catch(() => sql`select 'again' as text`);
      await sleep(50);
      held.sockets.at(-1)?.destroy(new Error('lost'));
      t.match(await Promise.race([Promise.allSettled([again]), sleep(3000)]), [
        { status: 'rejected', reason: { code: 'CONNECTION_CLOSED' } },
      ]);
      const texts = ['a', 'b', 'c', 'd'];
      const answers = texts.map(text => sql`select ${text}::text as text`.then(([row]) => row?.text));
      t.same(await Promise.race([Promise.all(answers), sleep(3000)]), texts);
    }
  },
);

t.test(
  'a statement that fails after its first rows leaves no holes in the next result: #1181',
  onPostgres,
  async t => {
    const { sql } = await makeClient(t, { max: 1 });
    const divided = sql`select 1 / (4 - i) from generate_series(1, 10) as i`;
    t.equal(await outcome(divided), '22012');
    t.same([...(await sql`select 'whole' as text`)], [{ text: 'whole' }]);
  },
);
