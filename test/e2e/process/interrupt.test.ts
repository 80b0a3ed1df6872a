import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { has } from '../../rig/openCluster.ts';
import { until } from '../../rig/process.ts';

t.setTimeout(220_000);

const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** When Ctrl-C comes: the words that are then in a log of the cluster. */
const moments: [string, string, string][] = [
  ['nothing runs yet', 'its output', 'Starting'],
  ['the database starts', 'postgres.log', 'starting PostgreSQL'],
  ['the servers start', 'redis.log', 'Ready to accept'],
  ['it stands', 'its output', 'Ctrl-C ends it.'],
];
const missing = !(has('nginx') && has('redis-server')) && 'nginx or redis-server is not installed';
for (const [moment, file, words] of moments)
  t.test(`Ctrl-C ends a cluster when ${moment}, and leaves nothing behind`, { skip: missing }, async t => {
    // A group of its own, because in a terminal Ctrl-C is sent to the whole group.
    const args = ['--disable-warning=ExperimentalWarning', 'scripts/cluster.ts'];
    const child = spawn(process.execPath, args, { detached: true });
    const ended = once(child, 'exit');
    const press = () => process.kill(-(child.pid ?? 0), 'SIGINT');
    t.teardown(() => child.exitCode === null && press());
    let said = '';
    child.stdout.on('data', text => {
      said += text;
    });
    await until('it begins', () => said.includes('Starting, in '), 60);
    const [folder] = /\/\S+triport-cluster-\w+/.exec(said) ?? [];
    // Nothing would be the beginning of every name.
    if (!folder) throw new Error(said);
    t.teardown(() => {
      for (const pid of processesOf(folder)) process.kill(Number(pid), 'SIGKILL');
    });
    const log = () => (file === 'its output' ? said : textOf(join(folder, file)));
    await until(moment, () => log().includes(words), 60);
    if (moment === 'it stands') t.ok(processesOf(folder).length >= 9);
    press();
    press();
    t.same(await ended, [0, null]);
    t.same(processesOf(folder), []);
    t.notOk(existsSync(folder));
  });

/** Whoever writes to a log of this cluster, or was started with its folder. */
function processesOf(folder: string): string[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return pids.filter(pid => {
    try {
      const output = readlinkSync(`/proc/${pid}/fd/1`);
      return output.startsWith(folder) || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
    } catch {
      // No process, or gone already.
      return false;
    }
  });
}
