// runs: late
import t from 'tap';
import { isReplayed, keyed } from '#test/helper/events/replays.ts';
import { digging } from '#test/helper/resources/batches.ts';
import { any, below, random, seed, shuffle } from '#test/helper/values/random.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { closeGate, countBurrows, killBeforeAnswer, type Pair, startPair } from '#test/rig/pair.ts';
import type { Service } from '#test/rig/process.ts';

const batch = ({ url }: Service, operations: object[], headers = {}) =>
  ask(`${url}/api/batch`, json({ operations }, headers));

t.test('batches that cross on two servers, beside single writes: each is done as a whole', async t => {
  const { servers, query } = await startPair(t);
  const paths = await Promise.all(
    Array.from({ length: 12 }, async (_, i) => {
      const { body } = await ask(`${servers[0].url}/api/burrows`, json({ label: `${i}` }));
      return `/api/burrows/${body.id}`;
    }),
  );
  const changes = new Map(paths.map(path => [path, 0]));
  const count = (path: string) => void changes.set(path, (changes.get(path) ?? 0) + 1);
  const statuses: number[] = [];
  let made = 0;
  const change = (path: string) => ({ method: 'PATCH', path, body: { label: `change ${++made}` } });
  async function write(server: Service): Promise<void> {
    for (let i = 0; i < 12; i++) {
      if (below(3) === 0) {
        const { path, body, method } = change(any(paths));
        const { status } = await ask(`${server.url}${path}`, { ...json(body), method });
        statuses.push(status);
        if (status === 200) count(path);
        continue;
      }
      const chosen = shuffle(paths, random).slice(0, 2 + below(9));
      const isRefused = below(5) === 0;
      // The second creation must refer to the first one of the same attempt.
      const sent = [digging('new'), digging('newer', { parentId: '$0' }), ...chosen.map(change)];
      if (isRefused) sent.push({ ...change(any(paths)), ifMatch: '"9999"' } as never);
      const { status } = await batch(server, sent);
      statuses.push(status === 412 && isRefused ? 200 : status);
      if (!isRefused) for (const path of chosen) count(path);
    }
  }
  await Promise.all(servers.flatMap(server => Array.from({ length: 4 }, () => write(server))));
  t.same(new Set(statuses), new Set([200]), `seed ${seed}`);
  for (const [path, changed] of changes)
    t.equal((await ask(`${servers[1].url}${path}`)).body.version, 1 + changed, path);
  const [logged] = await query(`select count(*)::int from audit_log where action = 'burrow.change'`);
  t.equal(
    logged?.count,
    [...changes.values()].reduce((sum, each) => sum + each, 0),
  );
});

const operations = [
  digging('Before'),
  digging('Held', { parentId: '$0' }),
  digging('After', { parentId: '$1' }),
];
const labels = ['Before', 'Held', 'After'];
const countEach = (pair: Pair) => Promise.all(labels.map(label => countBurrows(pair, label)));
const once = labels.map(() => ({ burrows: 1, entries: 1 }));

t.test('killed between the commit and the answer: the other server has the answer', async t => {
  const pair = await startPair(t);
  const send = (server: Service) => batch(server, operations, keyed('order'));
  const answer = await killBeforeAnswer(t, pair, send);
  t.ok(isReplayed(answer));
  t.match(
    answer.body.results,
    labels.map(label => ({ status: 201, body: { label, version: 1 } })),
  );
  t.same(await countEach(pair), once);
});

t.test('while batches hold connections', async t => {
  const pair = await startPair(t, { DATABASE_POOL_SIZE: '4' });
  const [server, other] = pair.servers;
  const gate = await closeGate(t, pair, 'its transaction');
  const send = (label: string, headers = {}, to = server) =>
    batch(to, [digging(label), digging(label)], headers);
  const single = async () => {
    const { status, seconds } = await ask(`${server.url}/api/burrows`, json({ label: 'Single' }));
    t.equal(status, 201);
    return seconds;
  };
  await single();

  /** Sends first batches that are held, and repetitions; another batch must not wait for these. */
  async function repeat(keys: string[], to: Service): Promise<void> {
    const first = keys.map(key => send('Held', keyed(key)));
    await gate.reached();
    const repetitions = keys.flatMap(key => [1, 2, 3].map(() => send('Held', keyed(key), to)));
    const { status, seconds } = await send('Other', {}, to);
    t.equal(status, 200);
    t.ok(seconds < 1, `${seconds} s`);
    await gate.open();
    t.ok((await Promise.all(first)).every(answer => answer.status === 200));
    t.ok((await Promise.all(repetitions)).every(answer => answer.status === 200 && isReplayed(answer)));
    await gate.close();
  }
  await t.test('a repetition waits for its key without a place', () => repeat(['a'], server));
  await t.test('so does one whose key is held by another server', () => repeat(['b', 'c'], other));

  await t.test('further ones wait without a connection, and single writes do not wait', async t => {
    const held = [send('Held'), send('Held')];
    await gate.reached();
    const waiting = Array.from({ length: 10 }, () => send('Waiting'));
    const seconds = await Promise.all(Array.from({ length: 20 }, single));
    t.ok(Math.max(...seconds) < 2, `${Math.max(...seconds)} s`);
    t.same(await countBurrows(pair, 'Waiting'), { burrows: 0, entries: 0 });
    await gate.open();
    const answers = await Promise.all([...held, ...waiting]);
    t.same(
      answers.map(({ status }) => status),
      answers.map(() => 200),
    );
    t.same(await countBurrows(pair, 'Waiting'), { burrows: 20, entries: 20 });
  });
});
