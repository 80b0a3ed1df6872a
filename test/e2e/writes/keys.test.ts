// runs: late
import { connect } from 'node:net';
import { text as read } from 'node:stream/consumers';
import t from 'tap';
import { isReplayed } from '#test/helper/events/replays.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { closeGate, countBurrows, createBurrow, startPair } from '#test/rig/pair.ts';
import { type Service, until } from '#test/rig/process.ts';

const once = { burrows: 1, entries: 1 };

function createByMutation({ url }: Service, key: string, label: string) {
  const query = `mutation { createBurrow(input: { label: "${label}" }) { id label } }`;
  return ask(`${url}/api/graphql`, json({ query }, { 'idempotency-key': key }));
}

t.test('a key that is taken on another server is waited for without a connection, up to the 409', async t => {
  // A second connection for writes would hide that a waiting request holds one.
  const pair = await startPair(t, {}, { DATABASE_POOL_SIZE: '1' });
  const [server, small] = pair.servers;
  const gate = await closeGate(t, pair, 'its transaction');
  const createUser = (email: string) => ask(`${small.url}/api/users`, json({ name: 'Ada', email }));
  // This creation loads code, for which a busy machine takes longer than the other requests wait.
  t.match(await createUser('before@example.com'), { status: 201 });
  const first = createBurrow(server, 'taken', 'Held');
  await gate.reached();
  const events: string[] = [];
  const waiters = Promise.all(
    Array.from({ length: 10 }, (_, i) => (i % 2 ? createBurrow : createByMutation)).map(async create => {
      const answer = await create(small, 'taken', 'Held');
      events.push('refused');
      return answer;
    }),
  );
  await until('they wait for the key', async () => {
    const locks = await pair.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return locks.length > 0;
  });
  for (const email of ['one@example.com', 'two@example.com'])
    events.push(`created ${(await createUser(email)).status}`);
  t.same(events, ['created 201', 'created 201'], 'others write meanwhile');
  for (const [i, answer] of (await waiters).entries()) {
    t.match(answer, { status: 409, headers: { 'retry-after': '1' } });
    const { body } = answer;
    if (i % 2) t.match(body.error, { status: 409, details: { code: 'idempotency_in_progress' } });
    else t.match(body.errors, [{ extensions: { code: 'IDEMPOTENCY_IN_PROGRESS' } }]);
  }
  await gate.open();
  const { status, text } = await first;
  t.equal(status, 201, 'the first request is not disturbed');
  const again = await createBurrow(small, 'taken', 'Held');
  t.ok(isReplayed(again));
  t.equal(again.text, text);
  t.same(await countBurrows(pair, 'Held'), once);
});

/** Starts a creation and waits until the server has read its head and half of its body. */
async function startSending({ port }: Service, key: string, label: string) {
  const body = JSON.stringify({ label });
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `POST /api/burrows HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\nidempotency-key: ${key}\r\nexpect: 100-continue\r\n\r\n`,
  );
  const { value: interim } = await socket.iterator({ destroyOnReturn: false }).next();
  if (!String(interim).startsWith('HTTP/1.1 100 ')) throw new Error(`Instead of 100: ${interim}`);
  socket.write(body.slice(0, body.length / 2));
  return { socket, rest: body.slice(body.length / 2) };
}

t.test('a body that is still being sent takes no key, and holds nothing', async t => {
  const pair = await startPair(t);
  const [server, other] = pair.servers;
  const { socket, rest } = await startSending(server, 'slow', 'Slow');
  const open = `select from pg_stat_activity where datname = current_database() and state like 'idle in%'`;
  t.same(await pair.query(open), [], 'no transaction is open');
  const complete = await createBurrow(other, 'slow', 'Slow');
  t.match(complete, { status: 201, headers: { 'idempotency-replayed': undefined } }, 'it is the first');
  socket.write(rest);
  const [head = '', text] = (await read(socket)).split('\r\n\r\n');
  t.match(head, /^HTTP\/1\.1 201 [\s\S]*^idempotency-replayed: true\r$/im);
  t.equal(text, complete.text);
  t.same(await countBurrows(pair, 'Slow'), once);
});
