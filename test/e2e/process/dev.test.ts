import { once } from 'node:events';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { serviceTitle } from '#schemas/name.ts';
import { copyProject } from '#test/docs/handbook.ts';
import { ask, json } from '#test/rig/cluster/ask.ts';
import { Part, until } from '#test/rig/cluster/part.ts';
import { makeDataFolder } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';

const folder = copyProject();
const [port, inspect] = [await freePort(), await freePort()];
const url = `http://127.0.0.1:${port}`;
const dev = new Part({
  name: 'npm run dev',
  command: 'npm',
  args: ['--prefix', folder, 'run', 'dev', '--', '--inspect', String(inspect)],
  env: { PORT: String(port), DATA_DIR: makeDataFolder(t), RATE_LIMIT_MAX: '100000' },
  log: join(folder, 'dev.log'),
  ready: written => / serves /.test(written()),
});
t.before(() => dev.start());
t.teardown(async () => {
  await dev.stop();
  rmSync(folder, { recursive: true, force: true });
});

const file = join(folder, 'schemas/name.ts');
const named = (title: string) =>
  readFileSync(file, 'utf8').replace(/(?<=serviceTitle = ').*(?=')/, () => title);

const inPlace = (title: string) => writeFileSync(file, named(title));
/** Saves a file as many editors do, and as git does. */
function byReplacing(title: string) {
  writeFileSync(`${file}.new`, named(title));
  renameSync(`${file}.new`, file);
}

/** Returns the page at `/`, or nothing while the service starts. */
const home = () =>
  ask(url, { headers: { accept: 'text/html' } }).then(
    ({ text }) => text,
    () => '',
  );

t.test('npm run dev serves each change, however it is saved, and keeps the database', async t => {
  const made = await ask(`${url}/api/users`, json({ name: 'Ada', email: 'ada@example.com' }));
  t.equal(made.status, 201);
  for (const [i, save] of [inPlace, byReplacing, byReplacing].entries()) {
    save(`Title ${i}`);
    await until(`Title ${i} is served`, async () => (await home()).includes(`<title>Title ${i}<`));
  }
  const found = await ask(`${url}/api/users/${made.body.id}`);
  t.same([found.status, found.body], [200, made.body]);
});

t.test('a file that cannot be run is waited for', async t => {
  inPlace("';");
  await until('the service is gone', async () => (await home()) === '');
  inPlace(serviceTitle);
  await until('the service is back', async () => (await home()) !== '');
  t.ok(dev.running);
});

t.test('a setting in .env is served', async t => {
  const origin = 'https://a.example';
  writeFileSync(join(folder, '.env'), `CORS_ORIGINS=${origin}\n`);
  const allowed = () =>
    ask(url, { headers: { origin } }).then(
      ({ headers }) => headers['access-control-allow-origin'],
      () => '',
    );
  await until('the origin is allowed', async () => (await allowed()) === origin);
  t.equal((await ask(url)).status, 200);
});

t.test('a debugger stops at a breakpoint in TypeScript', async t => {
  const [target] = (await ask(`http://127.0.0.1:${inspect}/json/list`)).body;
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  t.teardown(() => socket.close());
  await once(socket, 'open');
  const paused = Promise.withResolvers<{ location: { lineNumber: number } }>();
  const isSet = Promise.withResolvers<void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params } = JSON.parse(data);
    if (method === 'Debugger.paused') paused.resolve(params.callFrames[0]);
    if (id === 2) isSet.resolve();
  });
  const send = (id: number, method: string, params = {}) =>
    socket.send(JSON.stringify({ id, method, params }));
  const lineNumber = readFileSync('plugins/health.ts', 'utf8')
    .split('\n')
    .findIndex(line => line.includes('if (leaving())'));
  send(1, 'Debugger.enable');
  send(2, 'Debugger.setBreakpointByUrl', { lineNumber, urlRegex: '/plugins/health\\.ts$' });
  await isSet.promise;
  const answer = ask(`${url}/health/ready`);
  answer.then(() => paused.reject(new Error('It was answered without a stop')), paused.reject);
  const frame = await paused.promise;
  t.equal(frame.location.lineNumber, lineNumber);
  send(3, 'Debugger.resume');
  t.equal((await answer).status, 200);
});

const hasEnded = () => /"msg":"Ended\."\}\s*$/.test(readFileSync(join(folder, 'dev.log'), 'utf8'));

// A terminal sends Ctrl-C to all of a group, and npm sends it once more.
t.test('Ctrl-C ends the service in order', async t => {
  dev.signal('SIGINT');
  dev.signal('SIGINT');
  await until('npm run dev has ended', () => !dev.running);
  t.ok(hasEnded());
});

t.test('the service ends in order, also when npm run dev is killed', async t => {
  await dev.start();
  const [program = ''] = dev.children();
  process.kill(Number(program), 'SIGKILL');
  await until('the service has ended', hasEnded);
  t.equal(await home(), '');
});
