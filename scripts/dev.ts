import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, watch } from 'node:fs';
import { join } from 'node:path';
import { type Arguments, mainOf, UsageError } from '#src/command.ts';
import { exit } from '#src/process/exit.ts';
import { checkPort } from '#src/process/ports.ts';

const usage = `npm run dev [-- --inspect <port>]

Serves like npm start, and starts again when a file of the service or .env changes. A debugger finds it at port 9229
of the loopback address, or at this one.

Example: PORT=4000 npm run dev -- --inspect 9230`;

const options = { inspect: { type: 'string', default: '9229' } } as const;

async function dev({ values: { inspect } }: Arguments<typeof options>): Promise<void> {
  if (!/^\d{1,5}$/.test(inspect)) throw new UsageError(`--inspect ${inspect} is no port`);
  await checkPort('--inspect', Number(inspect), '127.0.0.1');
  // The server ends when this process is gone, however that ended.
  const guard = `data:text/javascript,process.on('disconnect', () => process.kill(process.pid))`;
  const flags = [`--inspect=${inspect}`, `--import=${guard}`, '--disable-warning=ExperimentalWarning'];
  const leaving = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => leaving.abort());
  while (!leaving.signal.aborted) {
    const changed = nextChange(leaving.signal);
    // Detached, because Ctrl-C must not reach the server, too: a second signal would end it at once.
    const server = spawn(process.execPath, [...flags, 'src/main.ts'], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    const ended = once(server, 'exit');
    ended.then(
      () => server.killed || console.log('The server has ended. It starts again when a file changes.'),
    );
    const file = await changed.finally(() => server.kill());
    if (file) console.log(`${file} has changed.`);
    // A server that stands at a breakpoint does not end by itself.
    const timer = setTimeout(() => server.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(timer);
  }
  await exit(0);
}

/**
 * The next file that changes, if any does before the end. Folders are watched, because `node --watch` (24.21) watches
 * files, and loses one that an editor or git has replaced.
 */
function nextChange(leaving: AbortSignal): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const watching = new AbortController();
  leaving.addEventListener('abort', () => resolve(undefined), watching);
  for (const folder of ['.', ...globSync('{src,plugins,schemas,drizzle}{,/**/}')])
    watch(folder, watching, (_event, file) => {
      // Editors write temporary files, too, which are hidden or end in ~.
      const isRead = folder === '.' ? /^(\.env|package\.json)$/ : /^[^.].*[^~]$/;
      if (isRead.test(file ?? '')) resolve(join(folder, file ?? ''));
    }).on('error', reject);
  return promise.finally(() => watching.abort());
}

export const main = await mainOf(import.meta, { usage, options, run: dev });
