import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ask, json } from '../rig/cluster/ask.ts';
import { openLocalPostgres, openStandby } from '../rig/openCluster.ts';
import { startService, until } from '../rig/process.ts';
import { hasRedis, refusals, startRedis } from '../rig/servers/redis.ts';

const [writer, otherClient] = ['127.0.0.2', '127.0.0.3'];
/** The replica always lags by this many seconds: less than the 5 s that are allowed. */
const delay = 3;
/** The lag of the replica that must not be read from. */
const tooLong = 9;

const skip = !hasRedis && 'redis-server is not installed';
t.test('reads from a replica that lags', { skip }, async t => {
  const primary = await openLocalPostgres(t);
  const lagging = await openStandby(t, primary, `${delay}s`);
  const far = await openStandby(t, primary, `${tooLong}s`);
  const redis = await startRedis(t);

  const instance = (more: Record<string, string> = {}) =>
    startService(t, {
      DATABASE_URL: primary.url,
      DATABASE_REPLICA_URLS: lagging.url,
      REDIS_URL: redis.url,
      TRUST_PROXY: '',
      ...more,
    });
  const [one, two] = [await instance(), await instance()];
  const other = await instance({ DATABASE_REPLICA_URLS: far.url });
  // Until the tables reach the replica and each instance notices.
  await sleep((delay + 1) * 1000);

  let created = 0;
  const create = async (at: { url: string }, from: string) => {
    const body = json({ name: 'Ada', email: `${++created}@example.com` });
    const answer = await ask(`${at.url}/api/users`, { ...body, from });
    t.equal(answer.status, 201);
    return answer.body.id as string;
  };
  const sees = async (at: { url: string }, id: string, from: string) =>
    (await ask(`${at.url}/api/users/${id}`, { from })).status === 200;
  const total = async (at: { url: string }, from: string) =>
    (await ask(`${at.url}/api/users?limit=1`, { from })).body.meta.total as number;
  const query = async (at: { url: string }, id: string, from: string) => {
    const sent = { ...json({ query: `{user(id:"${id}"){id}}` }), from };
    return (await ask(`${at.url}/api/graphql`, sent)).body.data.user !== null;
  };

  /** Reads for as long as the replica lags; every read must find the record. */
  async function expectVisible(t: Test, id: string, from: string) {
    let stale = 0;
    for (const end = Date.now() + delay * 1000; Date.now() < end; await sleep(50))
      if (!(await sees(two, id, from))) stale++;
    t.equal(stale, 0, 'a client always sees what it wrote');
  }
  const readAgain = () =>
    until('both instances read from the replica again', async () => {
      const id = await create(one, writer);
      return !(await sees(one, id, otherClient)) && !(await sees(two, id, otherClient));
    });

  await t.test('a client sees its own write at once on every instance; others see it later', async t => {
    await readAgain();
    const id = await create(one, writer);
    const at = Date.now();
    for (const instance of [one, two]) {
      t.equal(await sees(instance, id, writer), true);
      t.equal(await query(instance, id, writer), true, 'through GraphQL');
      t.equal(await total(instance, writer), created, 'lists and totals too');
      t.equal(await sees(instance, id, otherClient), false, 'another client reads from the replica');
      t.equal(await query(instance, id, otherClient), false);
    }
    await until('the replica has it', () => sees(two, id, otherClient));
    const seconds = (Date.now() - at) / 1000;
    t.ok(seconds > delay - 1, `after ${seconds} s`);
    t.equal(await total(one, otherClient), created);
  });

  await t.test('a GraphQL mutation counts as a write', async t => {
    const text = 'mutation { createUser(input: {name: "A", email: "graphql@example.com"}) { id } }';
    const { body } = await ask(`${one.url}/api/graphql`, { ...json({ query: text }), from: '127.0.0.9' });
    const { id } = body.data.createUser;
    created++;
    t.equal(await sees(two, id, '127.0.0.9'), true);
    t.equal(await sees(two, id, otherClient), false);
  });

  await t.test('many writers on both instances always see their own writes', async t => {
    let stale = 0;
    let reads = 0;
    const end = Date.now() + 5000;
    await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        const from = `127.0.1.${i + 1}`;
        for (let round = 0; Date.now() < end; round++) {
          const id = await create(round % 2 ? one : two, from);
          for (const at of [one, two, other]) {
            reads++;
            if (!(await sees(at, id, from))) stale++;
          }
        }
      }),
    );
    t.comment(`${reads} reads after writes`);
    t.ok(reads > 50);
    t.equal(stale, 0);
  });

  await t.test('a replica that lags more than allowed is not used', async t => {
    const id = await create(one, writer);
    const at = Date.now();
    await until('the instance with the slow replica reads from the primary', () =>
      sees(other, id, otherClient),
    );
    t.ok(Date.now() - at < (delay - 1) * 1000, `after ${Date.now() - at} ms`);
    t.equal(await sees(one, id, otherClient), false, 'the others read from their replica');
    await sleep((delay + 1) * 1000);
  });

  let outages = 0;
  for (const [fault, { begin, end }] of Object.entries(refusals))
    await t.test(`a Redis that ${fault}: a client sees its own writes on every instance`, async t => {
      await redis.command(begin);
      let stale = 0;
      let id = '';
      const waits: number[] = [];
      for (let i = 1; i <= 12; i++) {
        const from = `127.0.4.${i}`;
        const began = performance.now();
        id = await create(one, from);
        waits.push(Math.round(performance.now() - began));
        if (!(await sees(two, id, from))) stale++;
      }
      t.equal(stale, 0, 'from the first write and throughout the outage');
      t.comment(`the writes took ${waits} ms`);
      await redis.command(end);
      await expectVisible(t, id, '127.0.4.12');
      await readAgain();
      outages++;
      for (const { lines } of [one, two])
        for (const words of ['does not store who has written', 'stores who has written again'])
          t.equal(lines.filter(({ msg }) => msg.includes(words)).length, outages, `"${words}" once`);
    });

  await t.test('a replica that goes away fails no request, and is used again once it is back', async t => {
    const statuses: number[] = [];
    let stopped = false;
    const clients = Array.from({ length: 8 }, async (_, i) => {
      while (!stopped)
        statuses.push((await ask(`${one.url}/api/users?limit=3`, { from: `127.0.2.${i + 1}` })).status);
    });
    for (const signal of ['SIGQUIT', 'SIGINT'] as const) {
      await sleep(500);
      await lagging.stop(signal);
      await sleep(500);
      await lagging.start();
    }
    stopped = true;
    await Promise.all(clients);
    t.ok(statuses.length > 100, `${statuses.length} requests`);
    t.same(new Set(statuses), new Set([200]));
    t.same(await lagging.query('select pg_is_in_recovery() as still'), [{ still: true }]);
    await readAgain();
  });
});
