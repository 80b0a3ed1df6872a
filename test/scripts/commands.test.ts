import { globSync, readFileSync } from 'node:fs';
import t from 'tap';
import manifest from '#package.json' with { type: 'json' };
import { run } from '#test/helper/command.ts';

const lines = Object.values<string>(manifest.scripts);
const programs = globSync('scripts/*.ts').filter(program =>
  readFileSync(program, 'utf8').includes('await mainOf('),
);
const mainOf = async (program: string) => (await import(`../../${program}`)).main;

/** Returns the options that a program declares. */
function optionsOf(program: string): string[] {
  const file = program === 'scripts/webhook.ts' ? 'scripts/lib/webhook/session.ts' : program;
  const [, declared = ''] =
    /^(?:export )?const options = \{([\s\S]*?)\} as const;/m.exec(readFileSync(file, 'utf8')) ?? [];
  return [...declared.matchAll(/'?([\w-]+)'?: (?=\{|text|number)/g)].map(([, name = '']) => name);
}

t.test('each command is an npm script, has a --help with its options, and refuses unknown ones', async t => {
  t.ok(programs.length > 10);
  for (const program of programs) {
    t.ok(
      lines.some(line => line.endsWith(` ${program}`)),
      program,
    );
    const main = await mainOf(program);
    const help = await run(main, ['--help']);
    t.match(help, { code: 0, out: /^Example: .*npm /m, err: '' }, program);
    for (const option of optionsOf(program)) t.match(help.out, `--${option}`, program);
    const refused = { code: 1, out: '', err: "Unknown option '--nonsense'. See --help.\n" };
    t.same(await run(main, ['--nonsense']), refused, program);
  }
});

t.test('a wrong value or name is reported in one line', async t => {
  for (const [command, message] of [
    ['scripts/seed.ts --users', "Unknown option '--users'"],
    ['scripts/seed.ts users=1e3', 'users must be a whole number up to 5,000,000'],
    ['scripts/doctor.ts --servers two', '--servers and --workers must be numbers'],
    ['scripts/keys.ts', 'Name a command: create, list, revoke'],
    ['scripts/keys.ts toString', "Unknown command 'toString': use one of create, list, revoke"],
    ['scripts/keys.ts create --days 0', '--days must be 1 to 99999'],
    ['scripts/keys.ts create --scopes root', '--scopes must be of read, write, admin, own'],
    ['scripts/keys.ts revoke', 'Name the id of a key'],
    ['scripts/webhook.ts', 'Name a command: send, listen, list, show, replay, dismiss'],
    ['scripts/webhook.ts replay', 'Name the id of an event, or pass --all'],
    ['scripts/webhook.ts replay evt_1 --dry-run', '--dry-run works only with --all'],
    ['scripts/webhook.ts dismiss evt_1 --status dead', '--status works only with --all'],
    ['scripts/migrate.ts now', "Unexpected argument 'now'"],
    ['scripts/backup.ts one two', "Unexpected argument 'two'"],
    ['scripts/backup.ts', 'Name the file to write'],
    ['scripts/restore.ts', 'Name the backup'],
  ] as const) {
    const [program = '', ...args] = command.split(' ');
    const { code, err } = await run(await mainOf(program), args);
    t.same({ code, err }, { code: 1, err: `${message}. See --help.\n` }, command);
  }
});

t.test('the service is called at the address on which it listens', async t => {
  const main = await mainOf('scripts/webhook.ts');
  for (const [HOST, base] of [
    ['0.0.0.0', 'http://127.0.0.1'],
    ['::', 'http://[::1]'],
    ['::1', 'http://[::1]'],
  ] as const) {
    const { err } = await run(main, ['list'], { HOST, PORT: '21799' });
    t.match(err, `${base}:21799: `, HOST);
  }
});
