// runs: late
import t, { type Test } from 'tap';
import { faults, type Scene } from '#test/rig/chaos/faults.ts';
import { runFaults } from '#test/rig/chaos/run.ts';
import { has, openCluster, openLocalPostgres, openStandby } from '#test/rig/openCluster.ts';

const missing = ['nginx', 'redis-server'].filter(program => !has(program));
const skip = missing.length > 0 && `needs ${missing.join(' and ')}`;

async function openScene(t: Test): Promise<Scene> {
  const primary = await openLocalPostgres(t);
  const standby = await openStandby(t, primary);
  const clock = new URL('../rig/chaos/clock.ts', import.meta.url).href;
  const env = { RATE_LIMIT_MAX: '1000000000', NODE_OPTIONS: `--import=${clock}` };
  const cluster = await openCluster(t, { databaseUrl: primary.url, env });
  return { cluster, primary, standby, seconds: 3 };
}

t.test('under faults, nothing that was acknowledged is lost or done twice', { skip }, async t => {
  const scene = await openScene(t);
  await runFaults(t, scene, faults);
  // The failover has made the standby the server.
  const [row] = await scene.standby.query(
    `select (select total from list_position('users', 0, false))::int as kept, (select count(*)::int from users) as counted`,
  );
  t.equal(row?.kept, row?.counted, 'the totals of lists are right');
});
