import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Arguments, type Io, mainOf, runMain, UsageError } from '../../../src/command.ts';
import { Citus } from '../citus/citus.ts';
import { Cluster } from '../cluster/cluster.ts';
import { onInterrupt } from '../cluster/ending.ts';
import { LocalPostgres } from '../cluster/postgres.ts';
import { freePorts } from '../servers/ports.ts';
import { Address } from './address.ts';
import { type CitusScene, citusFaults, database } from './citusFaults.ts';
import { type Fault, faults, type Scene } from './faults.ts';
import { countKept, type Kept, Load } from './load.ts';

const namesOf = (list: { name: string }[]) => list.map(({ name }) => `             ${name}`).join('\n');

const usage = `node test/rig/chaos/run.ts [--citus] [--seconds 5] [--only redis,clocks]

Puts a cluster under load, causes one fault after the other, and prints what was acknowledged and what of it was kept.
Exits with 1 if anything was lost or done twice.

  --seconds  how long a fault lasts
  --only     the faults with these parts of a name, of
${namesOf(faults)}
  --citus    on a Citus of three nodes, with these faults:
${namesOf(citusFaults)}

Example: node test/rig/chaos/run.ts --only redis,clocks`;

const options = {
  seconds: { type: 'string', default: '5' },
  only: { type: 'string', default: '' },
  citus: { type: 'boolean' },
} as const;

const clients = 8;
/** Seconds after a fault until everything that was acknowledged must be in the database. */
const recoverWithin = 90;

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'triport-chaos-'));
  // Under root, PostgreSQL runs as another user, which needs access.
  chmodSync(folder, 0o755);
  return folder;
}

async function openScene(seconds: number): Promise<Scene> {
  const folder = makeFolder();
  const [port = 0, standbyPort = 0, addressPort = 0] = await freePorts(3);
  const primary = new LocalPostgres('primary', folder, port);
  await primary.create();
  const standby = await primary.makeStandby(folder, standbyPort, 'standby');
  const address = new Address(addressPort, port);
  await address.open();
  const databaseUrl = primary.url.replace(String(port), String(addressPort));
  const clock = new URL('clock.ts', import.meta.url).href;
  const env = { RATE_LIMIT_MAX: '1000000000', NODE_OPTIONS: `--import=${clock}` };
  const cluster = await Cluster.open({ databaseUrl, env });
  return { cluster, primary, standby, address, seconds, folder };
}

async function closeScene({ cluster, address, standby, primary, folder }: Scene): Promise<void> {
  await cluster.close();
  address.close();
  await standby.stop();
  await primary.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function openCitusScene(seconds: number): Promise<CitusScene & { folder: string }> {
  const folder = makeFolder();
  const citus = await Citus.open(database, { folder: join(folder, 'citus') });
  const databaseUrl = citus.coordinator.urlOf(database);
  const cluster = await Cluster.open({ databaseUrl, env: { RATE_LIMIT_MAX: '1000000000' } });
  return { cluster, citus, folder, seconds };
}

async function closeCitusScene({ cluster, citus, folder }: Awaited<ReturnType<typeof openCitusScene>>) {
  await cluster.close();
  await citus.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Causes one fault under load; returns its row of the table, and whether nothing was lost. */
async function runFault<S extends { cluster: Cluster }>(
  scene: S,
  { name, unnoticed = false, run }: Fault<S>,
) {
  const { cluster } = scene;
  const load = new Load(cluster.url, name.replace(/\W+/g, '-'));
  load.start(clients);
  await sleep(1000);
  await run(scene);
  const over = Date.now();
  await sleep(1000);
  await load.stop();
  const { customers, emails, counts } = load;
  const kept = await whatIsKept(cluster.databaseUrl, load, over + recoverWithin * 1000);
  for (const answer of load.wrongAnswers) console.log(`  wrong: ${answer}`);
  const failed = counts.refused + counts.lost + counts.wrong;
  const good = isAllKept(kept, load) && counts.wrong === 0 && (!unnoticed || failed === 0);
  const row = {
    ...counts,
    events: customers.length,
    effects: kept?.effects,
    twice: kept?.twice,
    created: emails.length,
    there: kept?.users,
    'recovered after': `${((Date.now() - over) / 1000).toFixed(1)} s`,
    kept: good ? 'yes' : 'NO',
  };
  return { row, good };
}

const isAllKept = (kept: Kept | undefined, { customers, emails }: Load) =>
  kept?.effects === customers.length && kept.twice === 0 && kept.users === emails.length;

/** Counts until everything is kept, or the time is over; undefined when the database does not answer. */
async function whatIsKept(databaseUrl: string, load: Load, end: number): Promise<Kept | undefined> {
  for (; ; await sleep(100)) {
    const kept = await countKept(databaseUrl, load).catch(() => undefined);
    if (isAllKept(kept, load) || Date.now() >= end) return kept;
  }
}

function chosenBy<S>(only: string, faults: Fault<S>[]): Fault<S>[] {
  const parts = only.toLowerCase().split(',');
  const chosen = faults.filter(({ name }) => parts.some(part => name.toLowerCase().includes(part)));
  if (chosen.length === 0) throw new UsageError(`--only=${only} is part of no name of a fault`);
  return chosen;
}

async function causeFaults({ values }: Arguments<typeof options>, io: Io): Promise<number> {
  const seconds = Number(values.seconds);
  if (!(seconds >= 1)) throw new UsageError('--seconds must be a number from 1');
  if (!values.citus)
    return runFaults(io, chosenBy(values.only, faults), () => openScene(seconds), closeScene);
  return runFaults(io, chosenBy(values.only, citusFaults), () => openCitusScene(seconds), closeCitusScene);
}

async function runFaults<S extends { cluster: Cluster }>(
  io: Io,
  chosen: Fault<S>[],
  open: () => Promise<S>,
  close: (scene: S) => Promise<void>,
): Promise<number> {
  const scene = await open();
  onInterrupt(() => close(scene));
  const broken: string[] = [];
  try {
    for (const fault of chosen) {
      const { row, good } = await runFault(scene, fault);
      // Printed at once, in case the run is interrupted.
      io.out(
        `${fault.name}: ${Object.entries(row)
          .map(entry => entry.join(' '))
          .join(', ')}`,
      );
      if (!good) broken.push(fault.name);
    }
  } finally {
    await close(scene);
  }
  const result = broken.length === 0 ? 'nothing was lost or done twice' : `losses in ${broken.join(', ')}`;
  io.out(`Faults: ${chosen.length}, ${result}.`);
  return broken.length > 0 ? 1 : 0;
}

export const main = mainOf({ usage, options, run: causeFaults });
if (import.meta.main) await runMain(main);
