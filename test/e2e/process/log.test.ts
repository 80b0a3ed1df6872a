import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { makeFolder, startService, until } from '#test/rig/process.ts';

t.test('an unread log delays no request, and is complete once it is read', async t => {
  const unreachable = 'postgres://x:x@127.0.0.1:1/x';
  const service = await startService(t, { DATABASE_URL: unreachable }, { ready: false });
  service.child.stdout?.pause();
  // The lines take several times the size of the pipe's buffers.
  const requests = 4000;
  const path = `/${'a'.repeat(280)}`;
  const seen = new Set<number>();
  for (let i = 0; i < requests; i += 40)
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        const reply = await fetch(service.url + path, { signal: AbortSignal.timeout(60_000) });
        await reply.arrayBuffer();
        seen.add(reply.status);
      }),
    );
  t.same([...seen], [404]);
  const answered = () => service.lines.filter(({ msg }) => msg === 'answered').length;
  t.ok(answered() < requests, `${answered()} lines were read before it resumed`);
  service.child.stdout?.resume();
  await until('every line has arrived', () => answered() === requests);
});

/** Starts a process that logs this many lines and then runs `then`. */
function run(t: Test, lines: number, then: string, stdout: 'pipe' | number = 'pipe') {
  const module = new URL('../../../src/telemetry/log.ts', import.meta.url).href;
  const script = `
    import { openLog } from '${module}';
    const log = openLog({ LOG_LEVEL: 'info' }, false);
    for (let i = 0; i < ${lines}; i++) log.info({ i, pad: 'x'.repeat(200) }, 'one of many');
    ${then}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', stdout, 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

const parse = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line));

/** Waits until the process has written these words to standard error. */
const written = async (child: ChildProcess, words: string) => {
  for await (const chunk of child.stderr ?? []) if (String(chunk).includes(words)) return;
};

const last = "log.info('the last one');";
const endings = {
  'process.exit': `${last} process.exit(3);`,
  'an uncaught exception': `${last} throw new Error('on purpose');`,
  'a signal': `process.on('SIGTERM', () => { ${last} process.exit(3); }); setInterval(() => {}, 1000); process.kill(process.pid, 'SIGTERM');`,
  'an empty event loop': last,
};

for (const [ending, then] of Object.entries(endings))
  t.test(`the last line is written before the process exits by ${ending}`, async t => {
    // The lines are twice what a pipe holds: a busy reader might not read more in the 400 ms that an exit waits.
    const lines = 500;
    const child = run(t, lines, then);
    const read = parse(await text(child.stdout as NonNullable<typeof child.stdout>));
    t.equal(read.length, lines + 1, 'to a pipe');
    t.equal(read.at(-1).msg, 'the last one');

    const file = join(makeFolder(t), 'log');
    await once(run(t, lines, then, openSync(file, 'w')), 'exit');
    const written = parse(readFileSync(file, 'utf8'));
    t.equal(written.length, lines + 1, 'to a file');
    t.equal(written.at(-1).msg, 'the last one');
  });

t.test('lines beyond the memory limit are dropped, and a warning counts them', async t => {
  const lines = 100_000;
  const child = run(t, lines, "console.error('logged');");
  await written(child, 'logged');
  const read = parse(await text(child.stdout as NonNullable<typeof child.stdout>));
  const kept = read.filter(({ msg }) => msg === 'one of many');
  t.ok(kept.length > 50_000 && kept.length < lines, `${kept.length} lines were kept`);
  const warnings = read.filter(({ msg }) => msg !== 'one of many');
  t.match(warnings, [{ level: 40, lines: lines - kept.length, msg: /not read in time/ }]);
  t.equal(warnings.length, 1, 'one warning');
});

t.test('a process whose log nobody reads any more goes on', async t => {
  const more = "for (let i = 0; i < 1000; i++) log.info('nobody reads this');";
  const child = run(t, 5000, `console.error('logged'); setTimeout(() => { ${more} process.exit(3); }, 200);`);
  await written(child, 'logged');
  child.stdout?.destroy();
  const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(60_000) });
  t.equal(code, 3);
});

t.test('an unread log does not delay the exit of the process', async t => {
  const child = run(t, 5000, 'process.exit(3);');
  const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(60_000) });
  t.equal(code, 3);
});
