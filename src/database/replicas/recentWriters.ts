import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectRedis, isTimeout } from '../../core/redisClient.ts';
import { watchService } from '../../core/watch.ts';
import type { Log } from '../../telemetry/log.ts';

/** Milliseconds. */
const probeEvery = 250;
/** By this time the probe of every other instance has failed too. */
const noticedAfter = 2 * probeEvery;
const retryEvery = 100;
/** How much later than this instance another one may reach Redis again. */
const reconnectTolerance = 1000;

/**
 * Who wrote lately, for all instances. An entry can get lost: Redis is away, is a replica that refuses writes, or is
 * full. So each instance keeps writing a key of its own. When that fails, it takes every caller for a recent writer
 * until the lost entries would have expired.
 */
export function openRecentWriters(url: string, lifetime: number, log: Log) {
  const ownKey = `probe:${randomUUID()}`;
  /** The first failure since the last probe that succeeded. */
  let failingSince: number | undefined;
  /** Until then entries may be missing. */
  let blindUntil = 0;
  const options = { keyPrefix: 'triport:wrote:', retryStrategy: () => probeEvery };
  const { redis, report } = connectRedis(url, options, error => {
    const time = performance.now();
    failingSince ??= time;
    blindUntil = time + lifetime + reconnectTolerance;
    watch.failed(error);
  });
  /** Whether Redis stored it. */
  async function write(name: string): Promise<boolean> {
    const attempt = () => redis.set(name, 1, 'PX', lifetime);
    // When this process was busy, the answer may be there and only look late.
    const stored = attempt().catch(error => (isTimeout(error) ? attempt() : Promise.reject(error)));
    return stored.then(() => true, report);
  }
  // Before the first connection a write would count as a failure.
  const attempted = new Promise<void>(resolve => void redis.once('ready', resolve).once('close', resolve));
  /** Away from the first failure until no entry is missing. */
  const watch = watchService({
    check: async () => {
      await attempted;
      if (await write(ownKey)) failingSince = undefined;
      if (performance.now() < blindUntil) throw new Error('Entries may be missing.');
    },
    every: probeEvery,
    log,
    level: 'warn',
    away: 'Redis does not store who has written: all reads go to the primary.',
    back: 'Redis stores who has written again: reads use the replicas.',
  });
  return {
    /** Whether this caller wrote lately; true when that cannot be known. */
    async has(name: string): Promise<boolean> {
      if (watch.isAway() || redis.status !== 'ready') return true;
      const exists = await redis.exists(name).catch(() => 1);
      return exists === 1 || watch.isAway();
    },
    /** Settles when every instance knows that this caller wrote, or that it cannot know who did. */
    async set(name: string): Promise<void> {
      const began = performance.now();
      const failingFor = () => performance.now() - Math.min(began, failingSince ?? began);
      while (!(await write(name)) && failingFor() < noticedAfter) await sleep(retryEvery);
    },
    close() {
      void watch.close();
      redis.disconnect();
    },
  };
}
