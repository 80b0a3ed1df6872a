import { globSync, readdirSync } from 'node:fs';
import t from 'tap';
import { makeFolder, runCommand } from '../../rig/process.ts';

t.setTimeout(240_000);

const scripts = ['src/main.ts', 'src/worker.ts', 'bench/run.ts', ...globSync('scripts/*.ts')];

for (const script of scripts)
  t.test(`${script} has a --help, and refuses unknown options`, async t => {
    const folder = makeFolder(t);
    const run = (...args: string[]) => runCommand(script, args, {}, folder);
    t.match(await run('--help'), { code: 0, out: /npm (start|test|run)/, err: '' });
    t.match(await run('--nonsense'), { code: 1, out: '', err: "Unknown option '--nonsense'. See --help.\n" });
    t.same(readdirSync(folder), [], 'no file was created');
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
    ['scripts/webhook.ts', 'Name a command: send, listen, list, show, replay'],
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
