import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { random, seed, shuffle } from '#test/helper/values/random.ts';
import { followChanges } from '#test/rig/changes/follow.ts';
import { changeInSessions } from '#test/rig/changes/sessions.ts';
import { answers } from '#test/rig/cluster/part.ts';
import { openLocalPostgres } from '#test/rig/openCluster.ts';
import { clockAhead, type Service, spawnService, until, withWorld } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';
import { hasRedis, startRedis } from '#test/rig/servers/redis.ts';
import { makeTablesAt } from '#test/world/tables.ts';

const many = Number(process.env.TEST_CHANGES ?? 100_000);
const skip = !hasRedis && 'redis-server is not installed';

t.test(`${many} changes under faults: a reader that is cut each second gets each once`, { skip }, async t => {
  t.comment(`TEST_SEED=${seed}`);
  const [postgres, redis] = [await openLocalPostgres(t), await startRedis(t)];
  const ports = [await freePort(), await freePort()];
  await makeTablesAt(postgres.url);
  const env = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    RATE_LIMIT_MAX: '1000000000',
    LOG_LEVEL: 'warn',
  };
  /** The clock of the second server is half an hour ahead. */
  const start = (i: number) =>
    spawnService(
      t,
      { ...env, PORT: String(ports[i]), ...(i === 1 && { NODE_OPTIONS: clockAhead(30) }) },
      undefined,
      withWorld,
    );
  const servers: Service[] = ports.map((_, i) => start(i));
  const urls = ports.map(port => `http://127.0.0.1:${port}`);
  for (const url of urls) await until('it is ready', () => answers(`${url}/health/ready`));
  const kill = (i: number) => async () => {
    await servers[i]?.kill();
    await sleep(1000);
    servers[i] = start(i);
  };
  const freeze = (i: number) => async () => {
    servers[i]?.child.kill('SIGSTOP');
    await sleep(3000);
    servers[i]?.child.kill('SIGCONT');
  };
  const crash = async () => {
    await postgres.stop('SIGQUIT');
    await sleep(1000);
    await postgres.start();
  };
  const loseRedis = async () => {
    await redis.stop('SIGKILL');
    await sleep(3000);
    await redis.start();
  };
  const faults = [kill(0), kill(1), freeze(0), freeze(1), crash, crash, crash, loseRedis];
  await followChanges(t, {
    urls: () => urls,
    query: text => postgres.query(text),
    many,
    faults: shuffle(faults, random),
    meanwhile: async (contended, isOver) => {
      const endings = await changeInSessions(postgres.url, contended, isOver);
      for (const [ending, times] of Object.entries(endings)) t.ok(times > 0, `${times}: ${ending}`);
    },
  });
});
