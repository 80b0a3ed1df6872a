import { once } from 'node:events';
import { Redis } from 'ioredis';
import { serviceName } from '#schemas/name.ts';
import { checkClock, type Deployment } from './finding.ts';

const limits = { retryStrategy: () => null, connectTimeout: 3000, commandTimeout: 3000 };

export async function checkRedis(deployment: Deployment): Promise<void> {
  const { settings, report } = deployment;
  const redis = new Redis(settings.REDIS_URL ?? '', limits);
  try {
    await once(redis, 'ready');
    const facts = await redis.info();
    if (!/^maxmemory:0\r?$/m.test(facts) && !/^maxmemory_policy:volatile-ttl\r?$/m.test(facts))
      report('warning', 'redis_memory', 'A full Redis loses counts: set maxmemory-policy to volatile-ttl.');
    await checkClock(deployment, 'redis_clock', async () => Number((await redis.time())[0]) * 1000 + 500);
    await redis.set(`${serviceName}:doctor`, 1, 'PX', 1000);
  } finally {
    redis.disconnect();
  }
}
