import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { serviceName } from '#schemas/name.ts';
import { inherited } from '#test/rig/cluster/part.ts';
import { makeDataFolder, makeFolder, runCommand } from '#test/rig/process.ts';

t.test('the exit code says whether it worked, and a result is alone on standard output', async t => {
  const env = { DATA_DIR: makeDataFolder(t) };
  const wrong = await runCommand('scripts/keys.ts', ['--nonsense'], env, makeFolder(t));
  t.same(wrong, { code: 1, out: '', err: "Unknown option '--nonsense'. See --help.\n" });
  const { code, out } = await runCommand('scripts/keys.ts', ['create', '--name', 'me'], env);
  t.equal(code, 0);
  t.match(out, new RegExp(`^${serviceName}_\\S+\\n$`));
});

t.test('Ctrl-C ends a command, and the database is free for the next one', async t => {
  const DATA_DIR = makeDataFolder(t);
  const args = ['--disable-warning=ExperimentalWarning', 'scripts/seed.ts'];
  const child = spawn(process.execPath, args, { env: { ...inherited(), DATA_DIR }, stdio: 'ignore' });
  setTimeout(() => child.kill('SIGINT'), 3000);
  t.same(await once(child, 'exit'), [null, 'SIGINT']);
  const { code, out } = await runCommand('scripts/repair.ts', [], { DATA_DIR });
  t.equal(code, 0, out);
});
