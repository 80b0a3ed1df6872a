import t, { type Test } from 'tap';
import { Address } from '../rig/chaos/address.ts';
import { faults, type Scene } from '../rig/chaos/faults.ts';
import { runFaults } from '../rig/chaos/run.ts';
import { has, openCluster, openLocalPostgres } from '../rig/openCluster.ts';
import { makeFolder } from '../rig/process.ts';
import { freePorts } from '../rig/servers/ports.ts';

const missing = ['nginx', 'redis-server'].filter(program => !has(program));
const skip = missing.length > 0 && `needs ${missing.join(' and ')}`;

async function openScene(t: Test): Promise<Scene> {
  const folder = makeFolder(t);
  const [port = 0, standbyPort = 0, addressPort = 0] = await freePorts(3);
  const primary = await openLocalPostgres(t, folder, port);
  const standby = await primary.makeStandby(folder, standbyPort, 'standby');
  t.teardown(() => standby.stop());
  const address = new Address(addressPort, port);
  await address.open();
  t.teardown(() => address.close());
  const databaseUrl = primary.url.replace(String(port), String(addressPort));
  const clock = new URL('../rig/chaos/clock.ts', import.meta.url).href;
  const env = { RATE_LIMIT_MAX: '1000000000', NODE_OPTIONS: `--import=${clock}` };
  const cluster = await openCluster(t, { databaseUrl, env });
  return { cluster, primary, standby, address, seconds: 3 };
}

t.test('under faults, nothing that was acknowledged is lost or done twice', { skip }, async t => {
  const scene = await openScene(t);
  await runFaults(t, scene, faults);
  // The standby has become the server.
  const [row] = await scene.standby.query(
    `select (select total from list_position('users', 0, false))::int as kept, (select count(*)::int from users) as counted`,
  );
  t.equal(row?.kept, row?.counted, 'the totals of lists are right');
});
