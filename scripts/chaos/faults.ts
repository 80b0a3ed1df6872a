import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import type { Cluster } from '../cluster/cluster.ts';
import type { Part } from '../cluster/part.ts';
import type { LocalPostgres } from '../cluster/postgres.ts';
import type { Address } from './address.ts';

export interface Scene {
  cluster: Cluster;
  primary: LocalPostgres;
  standby: LocalPostgres;
  /** Where the cluster looks for its database. */
  address: Address;
  seconds: number;
}

export interface Fault {
  name: string;
  /** Whether clients must not notice anything at all. */
  unnoticed?: boolean;
  happen: (scene: Scene) => Promise<void>;
}

const pick = <T>(list: T[]) => list[Math.floor(Math.random() * list.length)] as T;

/** Starts anew what was killed, as whoever watches over processes does. */
async function kill(part: Part): Promise<void> {
  await part.stop('SIGKILL');
  await sleep(300);
  await part.start();
}

async function restart({ cluster }: Scene): Promise<void> {
  await cluster.restartServers();
}

async function killAnything({ cluster, seconds }: Scene): Promise<void> {
  const parts = [...cluster.servers, ...cluster.workers, cluster.redis, cluster.balancer];
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(500)) await kill(pick(parts));
}

async function killWorkers({ cluster, seconds }: Scene): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; )
    await Promise.all(cluster.workers.map(worker => kill(worker)));
}

const stopPostgres =
  (signal: NodeJS.Signals) =>
  async ({ primary, seconds }: Scene) => {
    await sleep(1000);
    await primary.stop(signal);
    await sleep(seconds * 300);
    await primary.start();
    await sleep(1000);
  };

async function loseRedis({ cluster, seconds }: Scene): Promise<void> {
  await cluster.redis.stop('SIGKILL');
  await sleep(seconds * 1000);
  await cluster.redis.start();
}

/** A worker that stands still with jobs in its hands, and comes back when others may have done them. */
async function freezeWorker({ cluster: { workers }, seconds }: Scene): Promise<void> {
  workers[0]?.signal('SIGSTOP');
  await sleep(seconds * 1000);
  workers[0]?.signal('SIGCONT');
}

/** Effects cannot be written: jobs hang until their statements are given up, and are tried again. */
async function blockEffects({ primary, seconds }: Scene): Promise<void> {
  const sql = postgres(primary.url, { max: 1, onnotice: () => {} });
  await sql.begin(async tx => {
    await tx`lock table subscriptions in exclusive mode`;
    await sleep(seconds * 1000);
  });
  await sql.end();
}

/** Connections that never finish their request, as many as the system gives, to the servers themselves. */
async function holdSockets({ cluster, seconds }: Scene): Promise<void> {
  const sockets: Socket[] = [];
  const ports = cluster.serverUrls.map(url => Number(new URL(url).port));
  for (let i = 0; i < 10_000; i++) {
    const socket = connect(pick(ports), '127.0.0.1').on('error', () => {});
    socket.write('POST /api/users HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n{');
    sockets.push(socket);
    if (i % 500 === 0) await sleep(20);
  }
  await sleep(seconds * 1000);
  for (const socket of sockets) socket.destroy();
}

/** The primary is lost for good and its standby takes over. What is acknowledged must be on both before. */
async function failOver({ primary, standby, address }: Scene): Promise<void> {
  await primary.query("alter system set synchronous_standby_names = '*'");
  await primary.query('select pg_reload_conf()');
  // Commits that did not wait yet have time to arrive.
  await sleep(2000);
  await primary.stop('SIGQUIT');
  await standby.query('select pg_promote()');
  address.lead(standby.port);
  await sleep(1000);
}

/** In this order: after the failover there is no standby any more. */
export const faults: Fault[] = [
  { name: 'every server replaced', unnoticed: true, happen: restart },
  { name: 'kill -9 of anything', happen: killAnything },
  { name: 'kill -9 of all workers', unnoticed: true, happen: killWorkers },
  { name: 'a worker stands still', unnoticed: true, happen: freezeWorker },
  { name: 'effects are blocked', unnoticed: true, happen: blockEffects },
  { name: '10,000 half requests', unnoticed: true, happen: holdSockets },
  { name: 'Redis away', unnoticed: true, happen: loseRedis },
  { name: 'Postgres restarts', happen: stopPostgres('SIGINT') },
  { name: 'Postgres crashes', happen: stopPostgres('SIGQUIT') },
  { name: 'failover to the standby', happen: failOver },
];
