import { connect } from 'node:net';
import { text as read } from 'node:stream/consumers';
import t from 'tap';
import { isReplayed } from '../../helper/events/replays.ts';
import { ask, json } from '../../rig/cluster/ask.ts';
import { closeGate, countPosts, createPost, type Pair, startPair } from '../../rig/pair.ts';
import { type Service, until } from '../../rig/process.ts';

t.setTimeout(180_000);

const once = { posts: 1, entries: 1 };

function createByMutation({ url }: Service, { authorId }: Pair, key: string, title: string) {
  const query = `mutation { createPost(input: { title: "${title}", authorId: "${authorId}" }) { id title } }`;
  return ask(`${url}/api/graphql`, json({ query }, { 'idempotency-key': key }));
}

t.test('a mutation that is sent to two servers at once creates one record', async t => {
  const pair = await startPair(t);
  for (let round = 0; round < 25; round++) {
    const [key, title] = [`mutation-${round}`, `Post ${round}`];
    const answers = await Promise.all(pair.servers.map(server => createByMutation(server, pair, key, title)));
    const [first, second] = answers.map(({ status, text }) => ({ status, text }));
    t.match(first, { status: 200, text: `"title":"${title}"` });
    t.same(second, first, 'equal answers');
    t.equal(answers.filter(isReplayed).length, 1, 'one of which is the other');
    t.same(await countPosts(pair, title), once);
  }
});

t.test('a key that is taken on another server', async t => {
  // More than one connection for writes would hide that somebody holds one.
  const pair = await startPair(t, {}, { DATABASE_POOL_SIZE: '1' });
  const [server, small] = pair.servers;
  const gate = await closeGate(t, pair, 'its transaction');
  const waiting = () =>
    until('it waits for the key', async () => {
      const locks = await pair.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return locks.length > 0;
    });

  await t.test('is waited for without a connection, up to the 409', async t => {
    const first = createPost(server, pair, 'taken', 'Held');
    await gate.reached();
    const events: string[] = [];
    const waiters = Promise.all(
      Array.from({ length: 10 }, (_, i) => (i % 2 ? createPost : createByMutation)).map(async create => {
        const answer = await create(small, pair, 'taken', 'Held');
        events.push('refused');
        return answer;
      }),
    );
    await waiting();
    for (let i = 0; i < 5; i++) {
      const { status } = await ask(
        `${small.url}/api/users`,
        json({ name: 'Ada', email: `${i}@example.com` }),
      );
      events.push(`created ${status}`);
    }
    t.same(events, Array(5).fill('created 201'), 'others write meanwhile');
    for (const [i, answer] of (await waiters).entries()) {
      t.match(answer, { status: 409, headers: { 'retry-after': '1' } });
      const body = JSON.parse(answer.text);
      if (i % 2) t.match(body.error, { status: 409, details: { code: 'idempotency_in_progress' } });
      else t.match(body.errors, [{ extensions: { code: 'IDEMPOTENCY_IN_PROGRESS' } }]);
    }
    await gate.open();
    const { status, text } = await first;
    t.equal(status, 201, 'the first request is not disturbed');
    const again = await createPost(small, pair, 'taken', 'Held');
    t.ok(isReplayed(again));
    t.equal(again.text, text);
    t.same(await countPosts(pair, 'Held'), once);
  });

  t.test('is waited for until the first answer', async t => {
    await gate.close();
    await pair.query('delete from posts');
    const first = createPost(server, pair, 'soon', 'Held');
    await gate.reached();
    const second = createPost(small, pair, 'soon', 'Held');
    await waiting();
    await gate.open();
    t.notOk(isReplayed(await first));
    t.match(await second, {
      status: 201,
      headers: { 'idempotency-replayed': 'true' },
      text: (await first).text,
    });
    t.same(await countPosts(pair, 'Held'), once);
  });
});

/** A creation whose head and half of whose body the server has. */
async function startSending({ port }: Service, { authorId }: Pair, key: string, title: string) {
  const body = JSON.stringify({ title, authorId });
  const socket = connect(port, '127.0.0.1');
  const head = [
    'POST /api/posts HTTP/1.1',
    'host: x',
    'connection: close',
    'content-type: application/json',
    `content-length: ${body.length}`,
    `idempotency-key: ${key}`,
    // The server says that it has read the head.
    'expect: 100-continue',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const { value: interim } = await socket.iterator({ destroyOnReturn: false }).next();
  if (!String(interim).startsWith('HTTP/1.1 100 ')) throw new Error(`Instead of 100: ${interim}`);
  socket.write(body.slice(0, body.length / 2));
  return {
    socket,
    finish: async () => {
      socket.write(body.slice(body.length / 2));
      const [head = '', text = ''] = (await read(socket)).split('\r\n\r\n');
      return { head, text };
    },
  };
}

t.test('a body that is still being sent', async t => {
  const pair = await startPair(t);
  const [server, other] = pair.servers;
  const keys = async () => (await pair.query('select count(*)::int from idempotency_keys'))[0]?.count;

  for (const second of pair.servers)
    await t.test(
      `takes no key: a complete request is the first (${second === server ? 'same' : 'other'} server)`,
      async t => {
        const title = `Slow ${second.port}`;
        const slow = await startSending(server, pair, title.replace(' ', '-'), title);
        const complete = await createPost(second, pair, title.replace(' ', '-'), title);
        t.match(complete, { status: 201, headers: { 'idempotency-replayed': undefined } });
        const { head, text } = await slow.finish();
        t.match(head, /^HTTP\/1\.1 201 /);
        t.match(head, /^idempotency-replayed: true\r$/im);
        t.match(head, /^etag: "1"\r$/im);
        t.equal(text, complete.text);
        t.same(await countPosts(pair, title), once);
      },
    );

  t.test('that never ends holds nothing', async t => {
    const before = await keys();
    const { socket } = await startSending(server, pair, 'never', 'Never');
    t.equal(await keys(), before, 'no key is stored');
    const open = await pair.query(
      `select from pg_stat_activity where datname = current_database() and state like 'idle in%'`,
    );
    t.equal(open.length, 0, 'no transaction is open');
    socket.destroy();
    await until('the server has noticed', () => server.lines.some(({ msg }) => msg === 'broken HTTP'));
    t.equal(await keys(), before);
    t.match(await createPost(other, pair, 'never', 'Never'), {
      status: 201,
      headers: { 'idempotency-replayed': undefined },
    });
    t.same(await countPosts(pair, 'Never'), once);
  });
});
