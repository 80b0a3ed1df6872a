import { setTimeout as sleep } from 'node:timers/promises';
import type { Citus } from '#test/rig/citus/citus.ts';
import type { Cluster } from '#test/rig/cluster/cluster.ts';
import { until } from '#test/rig/cluster/part.ts';
import type { PostgresNode } from '#test/rig/cluster/postgres.ts';
import type { Fault } from './faults.ts';

export interface CitusScene {
  cluster: Cluster;
  citus: Citus;
  seconds: number;
}

/** Crashes a node, and starts it again after a while. */
async function crash(node: PostgresNode, seconds: number): Promise<void> {
  await node.stop('SIGQUIT');
  await sleep(seconds * 300);
  await node.start();
  await sleep(1000);
}

const crashNode = ({ citus, seconds }: CitusScene) => crash(citus.nodes[1], seconds);
const crashCoordinator = ({ citus, seconds }: CitusScene) => crash(citus.coordinator, seconds);

/** Counts the transactions that a node has prepared and whose outcome it does not know. */
const inDoubt = async (node: PostgresNode) =>
  (await node.query(`select gid from pg_prepared_xacts where gid like 'citus%'`)).length;

/** Crashes a node again and again, until one crash falls between prepare and commit of a transaction. */
async function crashInDoubt({ citus, seconds }: CitusScene): Promise<void> {
  const [, node] = citus.nodes;
  for (let left = 0; left === 0; ) {
    await until('a transaction is prepared', async () => (await inDoubt(node)) > 0);
    await node.stop('SIGQUIT');
    await sleep(seconds * 100);
    await node.start();
    left = await inDoubt(node);
  }
}

/** Moves shards from one node to another and back while events flow. */
async function moveShards({ citus, seconds }: CitusScene): Promise<void> {
  const [, first, second] = citus.nodes;
  // One table of each group is enough: the others of its group move along.
  for (const [from, to] of [
    [first, second],
    [second, first],
  ] as const)
    for (const table of ['webhook_events', 'subscriptions']) {
      const shards = await citus.coordinator.query(
        `select shardid from citus_shards where table_name = '${table}'::regclass and nodeport = ${from.port} order by 1 limit ${Math.ceil(seconds / 3)}`,
      );
      for (const { shardid } of shards)
        await citus.coordinator.query(
          `select citus_move_shard_placement(${shardid}, '127.0.0.1', ${from.port}, '127.0.0.1', ${to.port})`,
        );
    }
}

export const citusFaults: Fault<CitusScene>[] = [
  { name: 'shards move', run: moveShards },
  { name: 'a node crashes', run: crashNode },
  { name: 'a node crashes between prepare and commit', run: crashInDoubt },
  { name: 'the coordinator crashes', run: crashCoordinator },
];
