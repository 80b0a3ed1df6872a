import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { followChanges } from '#test/rig/changes.ts';
import { answers } from '#test/rig/cluster/part.ts';
import { openLocalPostgres } from '#test/rig/openCluster.ts';
import { type Service, spawnService, until, withWorld } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';
import { hasRedis, startRedis } from '#test/rig/servers/redis.ts';
import { makeTablesAt } from '#test/world/tables.ts';

const many = Number(process.env.TEST_CHANGES ?? 100_000);
const skip = !hasRedis && 'redis-server is not installed';

t.test(`${many} changes under faults: a reader that is cut each second gets each once`, { skip }, async t => {
  const [postgres, redis] = [await openLocalPostgres(t), await startRedis(t)];
  const ports = [await freePort(), await freePort()];
  await makeTablesAt(postgres.url);
  const env = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    RATE_LIMIT_MAX: '1000000000',
    LOG_LEVEL: 'warn',
  };
  const start = (port = 0) => spawnService(t, { ...env, PORT: String(port) }, undefined, withWorld);
  const servers = ports.map(start) as [Service, Service];
  const urls = ports.map(port => `http://127.0.0.1:${port}`);
  for (const url of urls) await until('it is ready', () => answers(`${url}/health/ready`));
  const faults = [
    async () => {
      await servers[1].kill();
      await sleep(1000);
      servers[1] = start(ports[1]);
    },
    async () => {
      await postgres.stop('SIGQUIT');
      await sleep(1000);
      await postgres.start();
    },
    async () => {
      await redis.stop('SIGKILL');
      await sleep(3000);
      await redis.start();
    },
  ];
  await followChanges(t, { urls: () => urls, query: text => postgres.query(text), many, faults });
});
