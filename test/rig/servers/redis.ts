import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import { Part } from '#test/rig/cluster/part.ts';
import { makeFolder } from '#test/rig/process.ts';
import { freePort } from './ports.ts';

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Commands that make Redis refuse every write, and those that undo it. */
export const refusals = {
  'has become a replica': { begin: 'replicaof 127.0.0.1 1', end: 'replicaof no one' },
  'is full': { begin: 'config set maxmemory 1', end: 'config set maxmemory 0' },
};

/** A Redis without persistence. */
export class LocalRedis extends Part {
  readonly url: string;
  readonly #port: number;

  constructor(folder: string, port: number) {
    super({
      name: 'redis',
      command: 'redis-server',
      args: ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
      log: join(folder, 'redis.log'),
      ready: written => written().includes('Ready to accept'),
    });
    this.url = `redis://127.0.0.1:${port}`;
    this.#port = port;
  }

  async command(line: string): Promise<unknown> {
    const [name = '', ...words] = line.split(' ');
    const client = new Redis(this.#port);
    const answer = await client.call(name, ...words);
    client.disconnect();
    return answer;
  }
}

export async function startRedis(t: Test) {
  const redis = new LocalRedis(makeFolder(t), await freePort());
  t.teardown(() => redis.stop());
  await redis.start();
  return redis;
}
