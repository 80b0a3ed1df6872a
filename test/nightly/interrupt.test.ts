import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { has } from '../rig/openCluster.ts';
import { until } from '../rig/process.ts';

const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** When Ctrl-C is pressed: once these words are in this log of the cluster. */
const moments: [string, string, string][] = [
  ['nothing is running yet', 'its output', 'Starting'],
  ['the database is starting', 'postgres.log', 'starting PostgreSQL'],
  ['the servers are starting', 'redis.log', 'Ready to accept'],
  ['it is ready', 'its output', 'Ctrl-C stops and removes everything.'],
];
const missing = !(has('nginx') && has('redis-server')) && 'nginx or redis-server is not installed';
for (const [moment, file, words] of moments)
  t.test(`Ctrl-C stops a cluster while ${moment}, and leaves nothing behind`, { skip: missing }, async t => {
    // A separate process group, because a terminal sends Ctrl-C to the whole group.
    // Those that follow are used, too.
    const port = 15_000 + 20 * Math.floor(Math.random() * 500);
    const args = ['--disable-warning=ExperimentalWarning', 'test/rig/cluster/start.ts', `--port=${port}`];
    const child = spawn(process.execPath, args, { detached: true });
    const ended = once(child, 'exit');
    const press = () => process.kill(-(child.pid ?? 0), 'SIGINT');
    t.teardown(() => child.exitCode === null && press());
    let output = '';
    child.stdout.on('data', text => {
      output += text;
    });
    await until('it prints its folder', () => output.includes('Starting, in '));
    const [folder] = /\/\S+triport-cluster-\w+/.exec(output) ?? [];
    // Every path starts with the empty string, so all processes would match.
    if (!folder) throw new Error(output);
    t.teardown(() => {
      for (const pid of processesOf(folder)) process.kill(Number(pid), 'SIGKILL');
    });
    const log = () => (file === 'its output' ? output : textOf(join(folder, file)));
    await until(moment, () => log().includes(words));
    if (moment === 'it is ready') t.ok(processesOf(folder).length >= 9);
    press();
    press();
    t.same(await ended, [0, null]);
    t.same(processesOf(folder), []);
    t.notOk(existsSync(folder));
  });

/** The processes that write to a log in this folder or have it in their command line. */
function processesOf(folder: string): string[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return pids.filter(pid => {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/1`);
      return target.startsWith(folder) || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
    } catch {
      // Not a process, or it has exited meanwhile.
      return false;
    }
  });
}
