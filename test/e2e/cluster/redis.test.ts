// runs: late
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { serviceName } from '#schemas/name.ts';
import { readSettings } from '#src/config/settings.ts';
import { openDatabase } from '#src/database/open.ts';
import { openPostgres } from '#src/database/postgres/postgres.ts';
import { openCalls } from '#src/webhooks/calls.ts';
import { bearer, makeKey } from '#test/helper/access.ts';
import { createPostgres, testLog } from '#test/helper/database.ts';
import { type Service, startService, until } from '#test/rig/process.ts';
import { hasRedis, refusals, startRedis } from '#test/rig/servers/redis.ts';

const options = hasRedis ? {} : { skip: 'redis-server is not installed' };

/** Returns the outages and recoveries that an instance has logged. */
const turnsOf = ({ lines }: Service) =>
  lines.flatMap(({ msg }) => /Redis is (out of reach|back)/.exec(msg)?.[1] ?? []);

const untilLogged = (instance: Service, turn: 'out of reach' | 'back') =>
  until(`"${turn}" is logged`, () => turnsOf(instance).at(-1) === turn);

/**
 * Checks that each outage and each recovery is logged once, not for each request; on a busy machine a slow answer may
 * count as one more.
 */
function checkTurns(t: Test, instance: Service): void {
  const turns = turnsOf(instance);
  t.ok(turns.length >= 2, `${turns}`);
  t.notMatch(JSON.stringify(instance.lines), '"stack"', 'a reason says enough');
  t.same(
    turns,
    turns.map((_, i) => (i % 2 ? 'back' : 'out of reach')),
  );
}

async function twoInstances(t: Test, env: Record<string, string>) {
  const redis = await startRedis(t);
  const DATABASE_URL = await createPostgres(t);
  const database = openPostgres({ url: DATABASE_URL, connections: 1 }, testLog);
  await database.ready;
  const { key } = await makeKey(database, ['read']);
  await database.close();
  const all = { AUTH_MODE: 'required', DATABASE_URL, REDIS_URL: redis.url, ...env };
  const instances = await Promise.all([startService(t, all), startService(t, all)]);
  // An instance that has no connection yet counts on its own.
  const left = async ({ url }: Service) =>
    Number((await fetch(`${url}/api/users`)).headers.get('ratelimit-remaining'));
  const [one, two] = instances;
  await until('both count in Redis', async () => (await left(one)) - (await left(two)) === 1);
  const headers = bearer(key);
  const ask = async (i: number) => {
    const reply = await fetch(`${instances[i % 2]?.url}/api/users`, { headers });
    await reply.arrayBuffer();
    return reply.status;
  };
  return { redis, instances, ask };
}

/** Milliseconds between two requests of a client, so that the load does not starve the servers of CPU. */
const pause = 20;

/** Sends requests from several clients until it is stopped, and counts the answers by status. */
function load(ask: (i: number) => Promise<number>, clients: number) {
  const counts: Record<number, number> = {};
  let ending = false;
  let asked = 0;
  async function client() {
    while (!ending) {
      const status = await ask(asked++).catch(() => 0);
      counts[status] = (counts[status] ?? 0) + 1;
      await sleep(pause);
    }
  }
  const running = Promise.all(Array.from({ length: clients }, client));
  const end = async () => {
    ending = true;
    await running;
    return counts;
  };
  return { asked: () => asked, end };
}

t.test('a Redis that is killed and started again under load loses no request', options, async t => {
  const { redis, instances, ask } = await twoInstances(t, { RATE_LIMIT_MAX: '1000000' });
  const { end } = load(ask, 20);
  await sleep(300);
  await redis.stop('SIGKILL');
  for (const instance of instances) await untilLogged(instance, 'out of reach');
  await sleep(500);
  await redis.start();
  for (const instance of instances) await untilLogged(instance, 'back');
  await sleep(500);
  for (const instance of instances) checkTurns(t, instance);
  const counts = await end();
  t.same(Object.keys(counts), ['200'], JSON.stringify(counts));
  t.comment(JSON.stringify(counts));
});

t.test('a Redis that hangs does not delay requests for long', options, async t => {
  const { redis, instances, ask } = await twoInstances(t, { RATE_LIMIT_MAX: '1000000' });
  const clients = 10;
  const { asked, end } = load(ask, clients);
  await sleep(500);
  redis.signal('SIGSTOP');
  const before = asked();
  // A client waits for each answer, so this many requests mean that none waits for Redis.
  await until('every request is answered while Redis hangs', () => asked() > before + 20 * clients);
  for (const instance of instances) await untilLogged(instance, 'out of reach');
  redis.signal('SIGCONT');
  for (const instance of instances) await untilLogged(instance, 'back');
  const counts = await end();
  t.same(Object.keys(counts), ['200'], JSON.stringify(counts));
  for (const instance of instances) checkTurns(t, instance);
});

for (const [fault, { begin, end }] of Object.entries(refusals))
  t.test(`a Redis that ${fault}: each instance counts alone, and logs it once`, options, async t => {
    const { redis, instances, ask } = await twoInstances(t, { RATE_LIMIT_MAX: '40', RATE_LIMIT_WINDOW: '2' });
    // A slow answer on a busy machine may already have been logged as an outage.
    const before = instances.map(instance => turnsOf(instance).length);
    await redis.command(begin);
    const statuses: number[] = [];
    for (let i = 0; i < 100; i += 20)
      statuses.push(...(await Promise.all(Array.from({ length: 20 }, (_, k) => ask(i + k)))));
    t.equal(statuses.filter(status => status === 200).length, 80, 'each instance allows the whole limit');
    t.equal(statuses.filter(status => status === 429).length, 20);
    // The pause is long enough for a reconnection to be mistaken for a recovery.
    await sleep(1000);
    for (const [i, instance] of instances.entries()) {
      t.equal(turnsOf(instance).at(-1), 'out of reach', 'not back yet');
      const since = turnsOf(instance).slice(before[i]);
      t.ok(since.filter(turn => turn === 'out of reach').length <= 1, `logged once: ${since}`);
    }
    await redis.command(end);
    for (const instance of instances) await untilLogged(instance, 'back');
  });

t.test('an instance starts without Redis and connects to it later', options, async t => {
  const redis = await startRedis(t);
  await redis.stop('SIGKILL');
  const settings = { DATABASE_URL: await createPostgres(t), REDIS_URL: redis.url, RATE_LIMIT_MAX: '5' };
  const service = await startService(t, settings);
  const ask = async () => (await fetch(`${service.url}/api/users`)).status;
  for (const status of [200, 200, 200, 200, 200, 429]) t.equal(await ask(), status, 'counted alone');
  await redis.start();
  await untilLogged(service, 'back');
  t.equal(await ask(), 200, 'counted in Redis, from the start');
});

t.test(
  'with Redis, workers are called by it, because a pooler would lose a notification',
  options,
  async t => {
    const redis = await startRedis(t);
    const DATABASE_URL = await createPostgres(t);
    const settings = readSettings({ DATABASE_URL, REDIS_URL: redis.url });
    const [server, worker] = [await openDatabase(settings, testLog), await openDatabase(settings, testLog)];
    const listener = postgres(DATABASE_URL, { max: 1 });
    t.teardown(() => Promise.all([server.close(), worker.close(), listener.end()]));
    await Promise.all([server.ready, worker.ready]);
    const notified: string[] = [];
    await listener.listen(serviceName, message => notified.push(message));
    let isCalled = false;
    worker.messages?.onMessage('events', () => {
      isCalled = true;
    });
    await until('it is called', async () => {
      openCalls(server).events.call();
      await sleep(50);
      return isCalled;
    });
    await listener.notify(serviceName, 'the last one');
    await until('that arrives', () => notified.includes('the last one'));
    t.same(notified, ['the last one']);
  },
);
