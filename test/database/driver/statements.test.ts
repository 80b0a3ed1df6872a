// runs: in its own process
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { outcome } from '#test/helper/servers/fakeServer.ts';
import { clientTests } from './client.ts';

// docs/decisions/06-postgres-driver.md names the issue of each fault.

const test = clientTests(t);
const isLost = /^(57P01|CONNECTION_CLOSED)$/;
/** The result of the work, or `nothing` if it hangs. */
const within = <T>(work: PromiseLike<T>) => Promise.race([work, sleep(3000, 'nothing', { ref: false })]);
const endings = (works: PromiseLike<unknown>[]) => Promise.all(works.map(work => outcome(work)));

test('statements of lost connections settle, and the pool is complete', { max: 4 }, async (t, client) => {
  const { sql, terminate, backends } = client;
  for (let round = 0; round < 3; round++) {
    const transactions = [1, 2, 3].map(() =>
      sql.begin(async tx => {
        await tx`select 1`;
        await sleep(100);
        // These are queued together after the loss, and the next one follows alone.
        await Promise.allSettled([tx`select 2`, tx`select 3`, tx`select ${'x'.repeat(20_000)}`]);
        await tx`select 4`;
      }),
    );
    const singles = Array.from({ length: 60 }, (_, i) => sql`select pg_sleep(0.02), ${i}::int`);
    const ended = endings([...transactions, ...singles]);
    await sleep(50);
    await terminate();
    t.notOk((await ended).includes('nothing'));
  }
  const works = [1, 2, 3, 4].map(() => sql.begin(tx => tx`select pg_sleep(0.2)`));
  t.same(await endings(works), ['done', 'done', 'done', 'done']);
  t.equal((await backends()).length, 4, 'transactions at once have a connection each');
});

test(
  'a client that has lost a connection sends the next statement, and can be ended',
  {},
  async (t, client) => {
    t.match(await client.loseConnection(), isLost);
    t.equal(await outcome(client.sql`select 1`), 'done', 'it does not get the error of the one before');
    t.match(await client.loseConnection(), isLost);
    t.equal(await outcome(client.sql.end({ timeout: 5 })), 'done');
  },
);

const two = { max: 2, hold: true };
test('a connection lost before its statement is written can be made again', two, async (t, client) => {
  const { sql, sockets } = client;
  const both = () => endings([1, 2].map(() => sql`select pg_sleep(0.1)`));
  t.same(await both(), ['done', 'done']);
  // Both close in one turn of the event loop: the statement goes to the second one, which closes before it is written.
  const closed = Promise.race(sockets.map(socket => once(socket, 'close')));
  const lost = closed.then(() => outcome(sql`select 1`));
  for (const socket of sockets) socket.destroy();
  t.equal(await lost, 'CONNECTION_CLOSED');
  t.same(await both(), ['done', 'done']);
});

test('a statement sent while a connection ends is lost', { hold: true }, async (t, { sql, sockets }) => {
  for (let round = 0; round < 3; round++) {
    await sql`select 1`;
    const next = outcome(sql`select pg_sleep(5)`.catch(() => sql`select 'next' as text`));
    await sleep(50);
    sockets.at(-1)?.destroy(new Error('lost'));
    t.equal(await next, 'CONNECTION_CLOSED');
    const texts = ['a', 'b', 'c'];
    const answers = texts.map(text => sql`select ${text}::text as text`.then(([row]) => row?.text));
    if (!t.same(await within(Promise.all(answers)), texts, 'nobody else gets its answer')) return;
  }
});

test('a transaction that lost its connection does not go on with another', {}, async (t, client) => {
  const { sql, terminate, notes } = client;
  const later = Promise.withResolvers<string>();
  const transaction = sql.begin(async tx => {
    await tx`insert into notes values ('before')`;
    await terminate();
    await sleep(100);
    // The pool has reconnected: this statement is not on the connection of the transaction.
    await sql`select 1`;
    later.resolve(outcome(tx`insert into notes values ('after')`));
  });
  t.equal(await outcome(transaction), 'CONNECTION_CLOSED');
  t.equal(await within(later.promise), 'CONNECTION_CLOSED');
  t.same(await notes(), []);
});

test('the queued statements of a transaction fail with its connection', {}, async (t, client) => {
  const queued = Promise.withResolvers<string[]>();
  const transaction = client.sql.begin(async tx => {
    // A statement whose types the driver must look up first has the connection to itself.
    queued.resolve(endings([tx`select pg_sleep(5), ${1}::int`, tx`select 2`, tx`select 3`]));
    await sleep(100);
    await client.terminate();
    await queued.promise;
  });
  t.match(await outcome(transaction), isLost);
  t.match(await within(queued.promise), [isLost, isLost, isLost]);
});

const short = { max_pipeline: 3 };
test('a transaction at the end of a full pipeline has its connection to itself', short, async (t, client) => {
  const { sql, backends, notes } = client;
  await sql`select 1`;
  for (let before = 0; before < 6; before++) {
    const slow = sql`select pg_sleep(0.05)`.execute();
    const works = Array.from({ length: before }, (_, i) => sql`select ${i}::int`.execute());
    const inside = sql.begin(tx => tx`insert into notes values ('inside')`);
    const outside = sql`insert into notes values ('outside')`.execute();
    await Promise.all([slow, ...works, inside, outside]);
  }
  t.equal((await notes()).length, 12);
  t.match(await backends(), [{ state: 'idle' }]);
});

test('a drained socket lets no other statement into a transaction', { hold: true }, async (t, client) => {
  const { sql, sockets, notes } = client;
  let other: PromiseLike<unknown> | undefined;
  const transaction = sql.begin(async tx => {
    await tx`insert into notes values ('rolled back')`;
    sockets.at(-1)?.emit('drain');
    other = sql`insert into notes values ('of another')`.execute();
    await sleep(100);
    throw new Error('roll back');
  });
  await t.rejects(transaction, { message: 'roll back' });
  await other;
  t.same(await notes(), ['of another']);
});

test(
  'a statement that fails after its first rows leaves no holes in the next result',
  {},
  async (t, { sql }) => {
    t.equal(await outcome(sql`select 1 / (4 - i) from generate_series(1, 10) as i`), '22012');
    t.same([...(await sql`select 'whole' as text`)], [{ text: 'whole' }]);
  },
);

test('statements of one turn of the event loop are sent together', { hold: true }, async (t, client) => {
  const { sql, sockets } = client;
  const note = 'x'.repeat(500);
  const all = () => Promise.all(Array.from({ length: 10 }, () => sql`select ${note}`));
  // Prepares the statement.
  await all();
  const [socket] = sockets;
  const write = t.capture(socket as Socket, 'write', (socket as Socket).write.bind(socket));
  await all();
  t.equal(write().length, 1);
});
