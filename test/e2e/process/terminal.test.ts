import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import t, { type Test } from 'tap';
import { serviceTitle } from '#schemas/name.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { inherited } from '#test/rig/cluster/part.ts';
import { makeDataFolder, makeFolder, preload, runCommand, startService, until } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';

/** The `script` of util-linux gives a program a terminal. */
const skip = !spawnSync('script', ['--version']).stdout?.includes('util-linux') && 'script is not installed';

/** Runs a program of the project on a terminal. */
function runOnTerminal(t: Test, command: string, env: Record<string, string>) {
  const program = fileURLToPath(new URL(`../../../${command}`, import.meta.url));
  const line = `${process.execPath} --disable-warning=ExperimentalWarning ${program}`;
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', line, '/dev/null'], {
    cwd: makeFolder(t),
    env: { ...inherited(), TERM: 'xterm', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own lets no program outlive the test.
    detached: true,
  });
  let output = '';
  child.stdout.on('data', data => {
    output += data;
  });
  const ended = once(child, 'close');
  const end = () => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    return ended;
  };
  t.teardown(end);
  return {
    output: () => output,
    lines: () => stripVTControlCharacters(output).trim().split(/\r?\n/),
    ended,
    end,
  };
}

t.test('on a terminal, the start says where things are, and each request is one line', { skip }, async t => {
  const [DATA_DIR, port] = [makeDataFolder(t), await freePort()];
  const service = runOnTerminal(t, 'src/main.ts', { DATA_DIR, PORT: String(port) });
  await until('it listens', () => service.output().includes('may read and write.'));
  const started = service.lines().length;
  const origin = `http://127.0.0.1:${port}`;
  t.same(
    service.lines().map(line => line.replace(/^\d\d:\d\d:\d\d /, '')),
    [
      `${serviceTitle} serves ${origin}/`,
      `API       ${origin}/api/users`,
      `Docs      ${origin}/docs`,
      `GraphQL   ${origin}/api/graphql`,
      `Console   ${origin}/console`,
      `Database  embedded, in ${DATA_DIR}; DATABASE_URL sets a PostgreSQL server`,
      'WARN AUTH_MODE is open: anyone who can reach this port may read and write.',
    ],
  );
  const send = async (method: string, path: string, body: object = {}) =>
    (await ask(origin + path, { ...body, method })).status;
  for (const path of ['/health/live', '/health/ready'])
    for (const method of ['GET', 'HEAD']) t.equal(await send(method, path), 200);
  const { text: page } = await ask(`${origin}/api/graphql`, { headers: { accept: 'text/html' } });
  const files = [...page.matchAll(/(?:href|src)="(\/[^"]+\.(?:css|js))"/g)].map(([, path = '']) => path);
  t.ok(files.length > 1, 'the page has files');
  for (const path of files) t.equal(await send('GET', path), 200);
  await send('POST', '/api/users', json({ name: 'Ada', email: 'ada@example.com' }));
  await send('HEAD', '/api/users');
  await send('GET', '/nowhere');
  await send('POST', '/api/users', json({ name: 3 }));
  await until('all are logged', () => service.lines().length >= started + 5);
  const requests = service.lines().slice(started);
  t.equal(requests.length, 5, requests.join('\n'));
  for (const [index, line] of [
    'GET    /api/graphql 200',
    'POST   /api/users 201',
    'HEAD   /api/users 200',
    'GET    /nowhere 404',
    'POST   /api/users 400',
  ].entries())
    t.match(requests[index], new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${line} [\\d.]+ ms$`));
  t.ok(
    service.output().includes('\x1b[32m201\x1b[39m') && service.output().includes('\x1b[33m404\x1b[39m'),
    'coloured',
  );
});

t.test('in production a terminal gets JSON, as everybody else', { skip }, async t => {
  const [DATA_DIR, port] = [makeDataFolder(t), await freePort()];
  const env = { DATA_DIR, PORT: String(port), NODE_ENV: 'production', AUTH_MODE: 'open' };
  const service = runOnTerminal(t, 'src/main.ts', env);
  await until('it listens', () => /AUTH_MODE is open.*\r?\n/.test(service.output()));
  for (const line of service.lines()) t.match(JSON.parse(line), { level: Number, time: Number, msg: String });
});

t.test('a database is named without its password', async t => {
  const DATABASE_URL = 'postgres://ada:hidden-password@127.0.0.1:1/triport?sslmode=disable';
  const service = await startService(t, { DATABASE_URL }, { ready: false });
  await until('it says where', () => service.lines.some(({ msg }) => msg.startsWith('Database')));
  t.equal(
    service.lines.find(({ msg }) => msg.startsWith('Database'))?.msg,
    'Database  PostgreSQL, 127.0.0.1:1/triport',
  );
  t.notMatch(JSON.stringify(service.lines), /hidden/);
});

t.test('a long command says on a terminal how far it is, and ends with a summary', { skip }, async t => {
  const shown = runOnTerminal(t, 'scripts/seed.ts users=3040', { DATA_DIR: makeDataFolder(t) });
  await shown.ended;
  const [, ...replaced] = shown.output().split('\r\x1b[K');
  t.match(replaced, [
    'Opening the database …\r',
    /^$/,
    '██████░░░░░░░░░░░░░░ 32 %  1,000 of 3,040 records',
    '█████████████░░░░░░░ 65 %  2,000 of 3,040 records',
    /^█{19}░ 98 % {2}3,000/,
    /^█{20} 100 % {2}3,040/,
    /^users: 3,040, 3,040 of them/,
  ]);
  t.match(shown.lines().at(-1), /^Done in [\d.]+ s\.$/);
});

t.test('elsewhere a long command prints lines, on standard error', async t => {
  const clock = 'const now = performance.now.bind(performance); performance.now = () => now() * 1e6';
  const env = { DATA_DIR: makeDataFolder(t), NODE_OPTIONS: preload(clock) };
  const { err } = await runCommand('scripts/seed.ts', ['users=3040'], env);
  t.match(err.trim().split('\n'), [
    /^65 %, 2,000 of 3,040 records/,
    /^98 %, 3,000 of 3,040 records/,
    /^100 %, 3,040 of 3,040 records$/,
  ]);
});
