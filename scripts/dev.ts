import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Arguments, mainOf } from '#src/command.ts';
import { exit } from '#src/process/exit.ts';

const usage = `npm run dev [-- --inspect <port>]

Serves like npm start, and starts again when a file of the service or .env changes. A debugger finds it at port 9229
of the loopback address, or at this one.

Example: PORT=4000 npm run dev -- --inspect 9230`;

const options = { inspect: { type: 'string', default: '9229' } } as const;

async function main({ values: { inspect } }: Arguments<typeof options>): Promise<void> {
  const flags = [`--inspect=${inspect}`, '--disable-warning=ExperimentalWarning'];
  while (true) {
    const changed = nextChange();
    const server = spawn(process.execPath, [...flags, 'src/main.ts'], { stdio: 'inherit' });
    const ended = once(server, 'exit');
    const leave = () => void ended.then(() => exit(0));
    // Ctrl-C reaches the server, too: a second signal from here would end it at once.
    process.removeAllListeners('SIGINT').once('SIGINT', leave);
    process.removeAllListeners('SIGTERM').once('SIGTERM', () => server.kill() && leave());
    console.log(`${await changed} has changed.`);
    server.kill();
    await ended;
  }
}

/**
 * Waits for the next file to change. Folders are watched, because `node --watch` (24.21) watches files, and loses one
 * that an editor or git has replaced.
 */
async function nextChange(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const watching = new AbortController();
  for (const folder of globSync('{.,{src,plugins,schemas,drizzle}{,/**/}}'))
    watch(folder, watching, (_event, file) => {
      if (file && (folder !== '.' || file === '.env')) resolve(join(folder, file));
    });
  const file = await promise;
  // Several files may be saved at once.
  await sleep(50);
  watching.abort();
  return file;
}

await mainOf(import.meta, { usage, options, run: main });
