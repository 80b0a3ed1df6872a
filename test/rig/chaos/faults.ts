import { cpSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { type Cluster, here } from '../cluster/cluster.ts';
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
  /** Where the servers of the database are. */
  folder: string;
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

/** Every server and every worker is replaced, one after the other, as a new release does. */
async function restart({ cluster }: Scene): Promise<void> {
  await cluster.restartServers();
  for (const worker of cluster.workers) {
    await worker.stop();
    await worker.start();
  }
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

/** A release with a migration works beside the old one, which starts anew on the new tables; then all goes back. */
async function mixReleases({ cluster, seconds }: Scene): Promise<void> {
  await cluster.replaceServer(0, makeRelease(cluster.folder));
  await sleep(seconds * 500);
  await cluster.replaceServer(1);
  await sleep(seconds * 500);
  await cluster.replaceServer(0);
}

/** A copy of the project that adds a column. */
function makeRelease(folder: string): string {
  const release = join(folder, 'release');
  for (const name of ['package.json', 'src', 'plugins', 'schemas', 'drizzle', 'scripts'])
    cpSync(join(here, name), join(release, name), { recursive: true });
  symlinkSync(realpathSync(join(here, 'node_modules')), join(release, 'node_modules'));
  const migrations = join(release, 'drizzle/migrations');
  const journal = JSON.parse(readFileSync(join(migrations, 'meta/_journal.json'), 'utf8'));
  const tag = '9999_next';
  journal.entries.push({ ...journal.entries.at(-1), idx: journal.entries.length, when: Date.now(), tag });
  writeFileSync(join(migrations, 'meta/_journal.json'), JSON.stringify(journal));
  writeFileSync(join(migrations, `${tag}.sql`), 'alter table users add column nickname text');
  return release;
}

/** All clocks at once, by less than a signature may be off; those that it is compared with stay. */
async function jumpClocks({ cluster, seconds }: Scene): Promise<void> {
  const jump = () => {
    for (const part of [...cluster.servers, ...cluster.workers]) part.signal('SIGUSR2');
  };
  jump();
  await sleep(seconds * 500);
  jump();
  await sleep(seconds * 500);
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
  { name: 'rolling restart', unnoticed: true, happen: restart },
  { name: 'two releases side by side', unnoticed: true, happen: mixReleases },
  { name: 'kill -9 of anything', happen: killAnything },
  { name: 'kill -9 of all workers', unnoticed: true, happen: killWorkers },
  { name: 'a worker stands still', unnoticed: true, happen: freezeWorker },
  { name: 'effects are blocked', unnoticed: true, happen: blockEffects },
  { name: '10,000 half requests', unnoticed: true, happen: holdSockets },
  { name: 'clocks jump ahead and back', unnoticed: true, happen: jumpClocks },
  { name: 'Redis away', unnoticed: true, happen: loseRedis },
  { name: 'Postgres restarts', happen: stopPostgres('SIGINT') },
  { name: 'Postgres crashes', happen: stopPostgres('SIGQUIT') },
  { name: 'failover to the standby', happen: failOver },
];
