import { serviceName } from '#schemas/name.ts';
import type { Messages } from '#src/database/database.ts';
import { connectRedis } from '#src/database/redisClient.ts';

const channel = `${serviceName}:messages`;

/** Sends messages through Redis. They are lost while Redis is out of reach. */
export function openRedisMessages(url: string): Messages & { close: () => void } {
  const connect = () => connectRedis(url, { keyPrefix: '' }, () => {}).redis;
  // A connection that listens can send nothing else.
  const [sender, listener] = [connect(), connect()];
  listener.on('ready', () => listener.subscribe(channel).catch(() => {}));
  return {
    send: async message => void (await sender.publish(channel, message)),
    onMessage: (expected, work) =>
      void listener.on('message', (_channel, message) => message === expected && work()),
    close: () => [sender, listener].forEach(redis => void redis.disconnect()),
  };
}
