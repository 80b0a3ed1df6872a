import { Redis } from 'ioredis';
import {
  compareClocks,
  type Deployment,
  type Findings,
  ok,
  problem,
  unreachable,
  warning,
} from './finding.ts';

/** Milliseconds. */
const timeout = 3000;

export async function* checkRedis({ settings: { REDIS_URL: url } }: Deployment): Findings {
  if (url === undefined) return;
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeout,
    commandTimeout: timeout,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  let failure: unknown;
  // The command that waits for the connection fails without the reason.
  redis.on('error', error => {
    failure ??= error;
  });
  try {
    await redis.connect();
    // Also finds a password that is wrong or missing.
    await redis.ping();
  } catch (error) {
    redis.disconnect();
    yield unreachable('REDIS_URL', failure ?? error);
    return;
  }
  try {
    yield* examine(redis);
  } finally {
    redis.disconnect();
  }
}

async function* examine(redis: Redis): Findings {
  const facts = new Map(
    [...(await redis.info()).matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, k = '', v = '']) => [k, v]),
  );
  const valkey = facts.get('valkey_version');
  yield ok(`REDIS_URL is ${valkey ? `Valkey ${valkey}` : `Redis ${facts.get('redis_version')}`}.`);
  try {
    await redis.set('triport:doctor', 1, 'PX', 1000);
    yield* checkEviction(facts);
  } catch (error) {
    const { message } = error as Error;
    yield problem(
      `REDIS_URL refuses writes (${message}): each instance counts its own rate limits, and replicas are not read from. Point it to the primary, or give it memory.`,
    );
  }
  yield await compareClocks('REDIS_URL', async () => {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  });
}

function* checkEviction(facts: Map<string, string>) {
  const policy = facts.get('maxmemory_policy');
  if (facts.get('maxmemory') === '0') yield ok('Redis has no limit of memory, so it drops nothing.');
  else if (policy === 'volatile-ttl') yield ok('When Redis is full, it drops what would expire first.');
  else
    yield warning(
      `When Redis is full, its maxmemory-policy ${policy} ${policy === 'noeviction' ? 'refuses writes' : 'may drop counts in use'}. Set it to volatile-ttl.`,
    );
}
