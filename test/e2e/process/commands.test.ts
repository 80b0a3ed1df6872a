import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { inherited } from '#test/rig/cluster/part.ts';
import { makeDataFolder, runCommand } from '#test/rig/process.ts';

t.test('Ctrl-C ends a command, and the database is free for the next one', async t => {
  const DATA_DIR = makeDataFolder(t);
  const args = ['--disable-warning=ExperimentalWarning', 'scripts/seed.ts'];
  const child = spawn(process.execPath, args, { env: { ...inherited(), DATA_DIR }, stdio: 'ignore' });
  setTimeout(() => child.kill('SIGINT'), 3000);
  t.same(await once(child, 'exit'), [null, 'SIGINT']);
  const { code, out } = await runCommand('scripts/repair.ts', [], { DATA_DIR });
  t.equal(code, 0, out);
});
