import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Test } from 'tap';
import { Balancer } from './cluster/balancer.ts';
import { Cluster } from './cluster/cluster.ts';
import { LocalPostgres } from './cluster/postgres.ts';
import { makeFolder } from './process.ts';
import { freePort } from './servers/ports.ts';

export const has = (program: string) => spawnSync(program, ['-v']).error === undefined;

/** The folder on the PATH that has this program. */
export const folderOf = (program: string) =>
  process.env.PATH?.split(delimiter).find(folder => existsSync(join(folder, program)));

/** Opens a cluster and closes it when the test ends. */
export async function openCluster(t: Test, choices: Parameters<typeof Cluster.prepare>[0] = {}) {
  const cluster = await Cluster.prepare(choices);
  t.teardown(() => cluster.close());
  await cluster.start();
  return cluster;
}

/** Starts nginx, configured as in deploy/, in front of these servers. */
export async function openBalancer(t: Test, servers: number[], folder = makeFolder(t)) {
  const port = await freePort();
  const balancer = new Balancer({ folder, port, servers });
  t.teardown(() => balancer.stop());
  await balancer.start();
  return { port, url: `http://127.0.0.1:${port}`, balancer };
}

/** Starts a PostgreSQL server with an empty database for one test. */
export async function openLocalPostgres(t: Test) {
  const server = new LocalPostgres('postgres', makeFolder(t), await freePort());
  t.teardown(() => server.stop());
  await server.create();
  return server;
}

export async function openStandby(t: Test, primary: LocalPostgres) {
  const standby = await primary.makeStandby();
  t.teardown(() => standby.stop());
  return standby;
}
