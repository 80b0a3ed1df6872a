import { spawnSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import manifest from '../../../package.json' with { type: 'json' };
import { makeFolder, runCommand } from '../../rig/process.ts';

t.setTimeout(240_000);

/** The npm scripts that run a program of ours, and not another tool. */
const scripts = Object.entries<string>(manifest.scripts)
  .map(([name, command]) => ({
    name,
    words: command.replace(/^exec node (--\S+ )?/, '').split(' '),
    command,
  }))
  .filter(({ command }) => command.startsWith('exec node '));

/** The options that a program declares. */
function optionsOf(script: string): string[] {
  const file = script === 'scripts/webhook.ts' ? 'scripts/lib/webhook/session.ts' : script;
  const [, declared = ''] =
    /^(?:export )?const options = \{([\s\S]*?)\} as const;/m.exec(readFileSync(file, 'utf8')) ?? [];
  return [...declared.matchAll(/(?<=^\s*|, )'?([\w-]+)'?: (?=\{|text)/gm)].map(([, name = '']) => name);
}

t.test('every program is an npm script', async t => {
  const programs = [...globSync('scripts/*.ts'), 'src/main.ts', 'src/worker.ts', 'bench/run.ts'];
  const run = new Set(scripts.map(({ words }) => words[0]));
  t.same([...run].sort(), programs.sort());
});

for (const { name, words } of scripts)
  t.test(
    `npm run ${name} has a --help with its options and an example, and refuses unknown ones`,
    async t => {
      const [script = '', ...given] = words;
      const folder = makeFolder(t);
      const run = (...args: string[]) => runCommand(script, [...given, ...args], {}, folder);
      const { code, out, err } = await run('--help');
      t.same({ code, err }, { code: 0, err: '' });
      const called = ['start', 'test'].includes(name) ? `npm ${name}` : `npm run (-s )?${name}`;
      t.match(out, name === 'test:e2e' ? /npm test/ : new RegExp(called));
      t.match(out, /^Example: .*npm /m);
      for (const option of optionsOf(script)) t.match(out, `--${option}`);
      t.match(await run('--nonsense'), {
        code: 1,
        out: '',
        err: "Unknown option '--nonsense'. See --help.\n",
      });
      t.same(readdirSync(folder), [], 'no file was created');
    },
  );

t.test('npm passes --help on', async t => {
  const { stdout, status } = spawnSync('npm', ['run', '-s', 'repair', '--', '--help'], { encoding: 'utf8' });
  t.equal(status, 0);
  t.match(stdout, /^npm run repair: recounts every list/);
});

t.test('a wrong value or name is reported in one line', async t => {
  for (const [command, message] of [
    ['scripts/seed.ts --users', "Option '--users <value>' argument missing"],
    ['scripts/seed.ts --users 1e3', '--users must be a whole number from 1 to 1,000,000'],
    ['scripts/chaos.ts --seconds no', '--seconds must be a number from 1'],
    ['scripts/chaos.ts --only nothing', '--only=nothing is part of no name of a fault'],
    ['scripts/cluster.ts --servers 4', '--servers must be 1 to 3'],
    ['scripts/cluster.ts --balancer apache', '--balancer is nginx or haproxy'],
    ['scripts/cluster.ts --port http', '--port must be 1 to 65000'],
    ['scripts/keys.ts', 'Name a command: create, list, revoke'],
    ['scripts/keys.ts toString', "Unknown command 'toString': use one of create, list, revoke"],
    ['scripts/keys.ts create --days 0', '--days must be 1 to 99999'],
    ['scripts/keys.ts create --scopes root', '--scopes must be of read, write, admin'],
    ['scripts/keys.ts revoke', 'Name the id of a key'],
    ['scripts/webhook.ts', 'Name a command: send, listen, list, show, replay, dismiss'],
    ['scripts/webhook.ts replay', 'Name the id of an event, or pass --all'],
    ['scripts/migrate.ts now', "Unexpected argument 'now'"],
    ['scripts/backup.ts one two', "Unexpected argument 'two'"],
    ['scripts/backup.ts', 'Name the file to write'],
    ['scripts/restore.ts', 'Name the backup'],
  ] as const) {
    const [script = '', ...args] = command.split(' ');
    const DATA_DIR = makeFolder(t);
    t.match(
      await runCommand(script, args, { DATA_DIR }),
      { code: 1, err: `${message}. See --help.\n` },
      command,
    );
  }
});
