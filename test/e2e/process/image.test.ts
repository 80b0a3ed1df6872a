import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';
import { createPostgres } from '../../helper/database.ts';
import { answers } from '../../rig/cluster/part.ts';
import { freePort, makeFolder, until } from '../../rig/process.ts';

t.setTimeout(240_000);

const dockerfile = readFileSync('deploy/Dockerfile', 'utf8');
/** The arguments of every instruction of this kind in the Dockerfile. */
const argumentsOf = (instruction: string) =>
  [...dockerfile.matchAll(new RegExp(`^${instruction} (.*)$`, 'gm'))].map(([, rest = '']) => rest);
const root = process.getuid?.() === 0;
const nobody = 65534;

t.test('the steps of the Dockerfile build a service that runs as nobody in a read-only folder', async t => {
  // On a disk: a tmpfs may be mounted noexec.
  const folder = join(makeFolder(t, process.env.TEST_DISK), 'app');
  mkdirSync(folder);
  const copies = argumentsOf('COPY').filter(line => !line.startsWith('--from'));
  for (const line of copies) {
    const paths = line.split(' ');
    const target = join(folder, paths.pop() ?? '');
    for (const path of paths)
      cpSync(path, paths.length > 1 || line.endsWith('./') ? join(target, basename(path)) : target, {
        recursive: true,
      });
  }
  const [install = ''] = argumentsOf('RUN').filter(line => line.startsWith('npm'));
  execFileSync('sh', ['-c', `${install} --prefer-offline`], { cwd: folder, stdio: 'pipe' });
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const locked = Object.entries<{ dev?: boolean; optional?: boolean; version: string }>(packages).filter(
    ([path]) => path,
  );
  const installed = (path: string) => existsSync(join(folder, path, 'package.json'));
  const versionOf = (path: string) =>
    JSON.parse(readFileSync(join(folder, path, 'package.json'), 'utf8')).version;
  const needed = locked.filter(([, { dev, optional }]) => !dev && !optional);
  t.ok(needed.length > 50);
  t.same(
    needed.filter(([path, { version }]) => !installed(path) || versionOf(path) !== version),
    [],
    'the versions are those of the lock file',
  );
  t.same(
    locked.filter(([path, { dev }]) => dev && installed(path)),
    [],
    'no development dependency is installed',
  );
  t.match(
    readFileSync(join(folder, 'node_modules/postgres/src/index.js'), 'utf8'),
    /triport-/,
    'the patch is applied',
  );
  execFileSync('chmod', ['-R', 'a+rX,a-w', folder]);

  const port = await freePort();
  const [start = '[]'] = argumentsOf('CMD');
  const [, ...args] = JSON.parse(start) as string[];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: {
      NODE_ENV: 'production',
      AUTH_MODE: 'open',
      PORT: String(port),
      DATABASE_URL: await createPostgres(t),
    },
    ...(root && { uid: nobody, gid: nobody }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  await until('it is ready', () => answers(`${url}/health/ready`), 60);
  for (const path of ['/', '/docs', '/docs/json', '/api/users']) t.ok(await answers(url + path), path);
  if (!root) t.throws(() => writeFileSync(join(folder, 'src/new.ts'), ''), { code: 'EACCES' });

  const [check = ''] = [...dockerfile.matchAll(/CMD (\["node", "-e", .*\])$/gm)].map(([, text = '']) => text);
  const health = (env: object) =>
    once(spawn(process.execPath, JSON.parse(check).slice(1), { env: { ...env } }), 'exit').then(
      ([code]) => code,
    );
  t.equal(await health({ PORT: String(port) }), 0);
  t.equal(await health({ PORT: String(await freePort()) }), 1);
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  t.same(await gone, [0, null]);
});
