import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { blocksOf } from '#test/docs/handbook.ts';
import { serve } from '#test/helper/servers/serve.ts';
import { call, makeDataFolder, makeFolder, type Service, startService, until } from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';

interface User {
  id: string;
  name: string;
  version: number;
}

/** These two characters end a line for a regular expression, but not in an event stream. */
const name = 'Ada\u2028King\u2029Byron';
/** The name is encoded: the report of a failure lacks a message that contains these characters. */
const describe = ({ id, name, version }: User) =>
  `user ${id}, version ${version}, ${encodeURIComponent(name)}`;

/** A folder with the programs of the guide. */
function writePrograms(t: Test): string {
  const folder = makeFolder(t);
  for (const { file, text } of blocksOf('docs/changes.md'))
    if (file.endsWith('.js'))
      // Makes the program print its whole copy instead of the size.
      writeFileSync(
        join(folder, file),
        text.replaceAll(/`.* users`/g, 'JSON.stringify([...users.values()])'),
      );
  return folder;
}

/** Runs copy.js, and returns a function that waits until its copy is what a service has. */
function startCopy(t: Test, url: string) {
  const env = { PATH: process.env.PATH, TRIPORT: url };
  const child = spawn(process.execPath, ['copy.js'], { cwd: writePrograms(t), env });
  t.teardown(() => child.kill());
  let [printed, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', data => (printed += data));
  child.stderr.on('data', data => (errors += data));
  /** Returns what its last whole line shows; `readline` would also end a line in the middle of a name. */
  const copyOf = (): string[] => JSON.parse(printed.split('\n').at(-2) ?? '[]').map(describe);
  return async function untilCopied(service: Service) {
    const { data } = (await call(service, 'GET', '/api/users?limit=100')).body;
    const users: string[] = data.map(describe);
    const mistakes = () => {
      const copy = copyOf();
      return [
        ...users.filter(user => !copy.includes(user)).map(user => `the copy lacks ${user}`),
        ...copy.filter(user => !users.includes(user)).map(user => `the copy should not have ${user}`),
      ];
    };
    const isCopied = () => {
      // A program that has ended does not come back: waiting would only hide its message.
      if (child.exitCode !== null) throw new Error(`copy.js ended: ${mistakes().join('; ')}\n${errors}`);
      return mistakes().length === 0;
    };
    await until(() => mistakes().join('; '), isCopied, 30);
  };
}

t.test('copy.js keeps its copy of any names over restarts and kills of the service', async t => {
  const env = { DATA_DIR: makeDataFolder(t), PORT: String(await freePort()) };
  let service = await startService(t, env);
  let made = 0;
  const newUser = async (): Promise<User> =>
    (await call(service, 'POST', '/api/users', { name, email: `c${++made}@example.com` })).body;
  const first = await newUser();
  const untilCopied = startCopy(t, service.url);
  await untilCopied(service);
  let last = await newUser();
  await untilCopied(service);

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    // The service ends when it has written some of these, which copy.js may or may not have seen.
    const writes = Array.from({ length: 20 }, newUser);
    const settled = Promise.allSettled(writes);
    await Promise.any(writes);
    await service.kill(signal);
    await settled;
    // Another port keeps copy.js from seeing what changes here before the service is back at its own.
    service = await startService(t, { ...env, PORT: '0' });
    t.equal((await call(service, 'DELETE', `/api/users/${last.id}`)).status, 204);
    t.equal((await call(service, 'PATCH', `/api/users/${first.id}`, { name: signal })).status, 200);
    last = await newUser();
    await service.kill(signal);
    service = await startService(t, env);
    await untilCopied(service);
    await newUser();
    await untilCopied(service);
  }
});

t.test('follow.js comes again after a 408, 429 and 503, and ends at a 410', async t => {
  const { follow } = await import(pathToFileURL(join(writePrograms(t), 'follow.js')).href);
  const statuses = [408, 429, 503];
  const { url } = await serve(t, (_, response) => response.writeHead(statuses.shift() ?? 410).end());
  // A `follow` that ends only by the signal would end without an error.
  await t.rejects(follow(url, { signal: AbortSignal.timeout(30_000) }), {
    message: 'The stream is refused: 410',
  });
  t.same(statuses, []);
});
