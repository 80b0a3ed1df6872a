import { cpSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { any } from '#test/helper/values/random.ts';
import { type Cluster, projectFolder } from '#test/rig/cluster/cluster.ts';
import type { Part } from '#test/rig/cluster/part.ts';
import type { LocalPostgres } from '#test/rig/cluster/postgres.ts';

export interface Scene {
  cluster: Cluster;
  primary: LocalPostgres;
  standby: LocalPostgres;
  seconds: number;
}

export interface Fault<S = Scene> {
  name: string;
  /** Whether no client may notice the fault. */
  unnoticed?: boolean;
  run: (scene: S) => Promise<void>;
}

/** Kills a part and restarts it, as a supervisor would. */
async function kill(part: Part): Promise<void> {
  await part.stop('SIGKILL');
  await sleep(300);
  await part.start();
}

/** Replaces every server and worker one by one, as a deployment does. */
async function restart({ cluster }: Scene): Promise<void> {
  await cluster.restartServers();
  for (const worker of cluster.workers) {
    await worker.stop();
    await worker.start();
  }
}

async function killAnything({ cluster, seconds }: Scene): Promise<void> {
  const parts = [...cluster.servers, ...cluster.workers, cluster.redis, cluster.balancer];
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(500)) await kill(any(parts));
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

/** Freezes a worker that holds jobs; when it continues, others may have done them. */
async function freezeWorker({ cluster: { workers }, seconds }: Scene): Promise<void> {
  workers[0]?.signal('SIGSTOP');
  await sleep(seconds * 1000);
  workers[0]?.signal('SIGCONT');
}

/** Blocks the effects of events: jobs wait until their statements time out, and are retried. */
async function blockEffects({ primary, seconds }: Scene): Promise<void> {
  const sql = postgres(primary.url, { max: 1, onnotice: () => {} });
  await sql.begin(async tx => {
    await tx`lock table subscriptions in exclusive mode`;
    await sleep(seconds * 1000);
  });
  await sql.end();
}

/** Opens up to 10,000 connections directly to the servers, each with an unfinished request. */
async function holdSockets({ cluster, seconds }: Scene): Promise<void> {
  const sockets: Socket[] = [];
  const ports = cluster.serverUrls.map(url => Number(new URL(url).port));
  for (let i = 0; i < 10_000; i++) {
    const socket = connect(any(ports), '127.0.0.1').on('error', () => {});
    socket.write('POST /api/users HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n{');
    sockets.push(socket);
    if (i % 500 === 0) await sleep(20);
  }
  await sleep(seconds * 1000);
  for (const socket of sockets) socket.destroy();
}

/** Runs a release with a migration beside the old one, restarts an old server on the new tables, and rolls back. */
async function mixReleases({ cluster, seconds }: Scene): Promise<void> {
  await cluster.replaceServer(0, makeRelease(cluster.folder));
  await sleep(seconds * 500);
  await cluster.replaceServer(1);
  await sleep(seconds * 500);
  await cluster.replaceServer(0);
}

/** Makes a copy of the project with a migration that adds a column. */
function makeRelease(folder: string): string {
  const release = join(folder, 'release');
  for (const name of ['package.json', 'src', 'plugins', 'schemas', 'drizzle', 'scripts'])
    cpSync(join(projectFolder, name), join(release, name), { recursive: true });
  symlinkSync(realpathSync(join(projectFolder, 'node_modules')), join(release, 'node_modules'));
  const migrations = join(release, 'drizzle/migrations');
  const journal = JSON.parse(readFileSync(join(migrations, 'meta/_journal.json'), 'utf8'));
  const tag = '9999_next';
  journal.entries.push({ ...journal.entries.at(-1), idx: journal.entries.length, when: Date.now(), tag });
  writeFileSync(join(migrations, 'meta/_journal.json'), JSON.stringify(journal));
  writeFileSync(join(migrations, `${tag}.sql`), 'alter table users add column nickname text');
  return release;
}

/** Moves the clocks of the service by less than the tolerance of signatures; the clocks of senders stay. */
async function jumpClocks({ cluster, seconds }: Scene): Promise<void> {
  const jump = () => {
    for (const part of [...cluster.servers, ...cluster.workers]) part.signal('SIGUSR2');
  };
  jump();
  await sleep(seconds * 500);
  jump();
  await sleep(seconds * 500);
}

/** Loses the primary for good and promotes its standby at its address. Acknowledged writes must be on both before. */
async function failOver({ primary, standby }: Scene): Promise<void> {
  await primary.query("alter system set synchronous_standby_names = '*'");
  await primary.query('select pg_reload_conf()');
  // Gives commits from before synchronous replication time to arrive.
  await sleep(2000);
  await primary.stop('SIGQUIT');
  await standby.query('select pg_promote()');
  await standby.moveTo(primary.port);
  await sleep(1000);
}

/** The failover comes last, because it uses up the standby. */
export const faults: Fault[] = [
  { name: 'rolling restart', unnoticed: true, run: restart },
  { name: 'two releases side by side', unnoticed: true, run: mixReleases },
  { name: 'kill -9 of anything', run: killAnything },
  { name: 'kill -9 of all workers', unnoticed: true, run: killWorkers },
  { name: 'a worker stands still', unnoticed: true, run: freezeWorker },
  { name: 'effects are blocked', unnoticed: true, run: blockEffects },
  { name: '10,000 half requests', unnoticed: true, run: holdSockets },
  { name: 'clocks jump ahead and back', unnoticed: true, run: jumpClocks },
  { name: 'Redis away', unnoticed: true, run: loseRedis },
  { name: 'Postgres restarts', run: stopPostgres('SIGINT') },
  { name: 'Postgres crashes', run: stopPostgres('SIGQUIT') },
  { name: 'failover to the standby', run: failOver },
];
