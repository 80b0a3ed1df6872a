import type { Redis } from 'ioredis';
import { serviceName } from '#schemas/name.ts';
import { connectRedis } from '#src/database/redisClient.ts';
import { repeat } from '#src/database/repeat.ts';
import type { Log } from '#src/telemetry/log.ts';
import { openMemoryStore, type RateLimitStore, type Usage } from './rateLimitStore.ts';

/** Counts in one script: a crash between separate commands would leave a count that never expires. */
const script = `
local used = redis.call('incrby', KEYS[1], ARGV[1])
if used < 0 then used = redis.call('incrby', KEYS[1], -used) end
local endsIn = redis.call('pttl', KEYS[1])
if endsIn < 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  endsIn = tonumber(ARGV[2])
end
return { used, endsIn }`;

type Client = Redis & { count(name: string, cost: number, window: number): Promise<[number, number]> };

/** Counts for all instances in Redis or Valkey. While it is out of reach, each instance counts on its own. */
export function openRedisRateLimitStore(url: string, window: number, log: Log): RateLimitStore {
  const fallback = openMemoryStore(window);
  const options = {
    keyPrefix: `${serviceName}:limit:`,
    scripts: { count: { numberOfKeys: 1, lua: script } },
  };
  const { redis, report } = connectRedis<Client>(url, options, error => watch.failed(error));
  /** Counts in Redis; false when that fails. */
  const count = (name: string, cost: number): Promise<Usage | false> =>
    redis.count(name, cost, window).then(([used, endsIn]) => ({ used, endsIn }), report);
  const watch = repeat({
    // The check writes, because a read-only replica or a full Redis accepts connections and refuses every write.
    work: async () => void (await count('probe', 0)),
    every: 250,
    // While Redis is there, requests notice its failures.
    cannotTell: (): boolean => !watch.isAway(),
    log,
    level: 'warn',
    away: 'Redis is out of reach or refuses writes: until it is back, each instance counts on its own.',
    back: 'Redis is back: limits are counted for all instances again.',
  });
  return {
    add: (name, cost) => {
      if (redis.status !== 'ready') return fallback.add(name, cost);
      return count(name, cost).then(usage => usage || fallback.add(name, cost));
    },
    size: fallback.size,
    close: async () => {
      void watch.close();
      redis.disconnect();
    },
  };
}
