import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { folderOf, has } from '#test/rig/openCluster.ts';
import { makeFolder, until } from '#test/rig/process.ts';

/**
 * Debian's buildah builds and runs images without a daemon and without a registry of images. It runs a container in a
 * chroot with the network and the process ids of the machine, which needs root.
 */

const call = promisify(execFile);

interface Step {
  created_by: string;
  empty_layer?: boolean;
}
interface Description {
  config: { Cmd: string[]; Volumes: object; Healthcheck: { Test: string[] } };
  history: Step[];
}
export type Image = Awaited<ReturnType<typeof buildImage>>;

/** Returns why no image can be built here, if so. */
export function reasonAgainstImages(): string | undefined {
  const missing = ['buildah', 'debootstrap'].find(program => !has(program));
  if (missing) return `${missing} is not installed`;
  // Neither root in a container nor another user may mount.
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'this user may not mount file systems';
}

/** Builds a Dockerfile on a base that this machine makes of its own Debian mirror, Node and npm. */
export async function buildImage(t: Test, dockerfile: string) {
  const folder = makeFolder(t, placeFor(tmpdir()));
  const store = storeIn(folder);
  const buildah = async (...args: string[]) =>
    (await call('buildah', [...store, ...args], { maxBuffer: 2 ** 26 })).stdout.trim();

  // A build that fails leaves containers mounted, and a folder with mounts cannot be removed.
  t.teardown(() => void spawnSync('buildah', [...store, 'rm', '--all']));

  const [, base = ''] = /^FROM (\S+)/m.exec(readFileSync(dockerfile, 'utf8')) ?? [];
  const scratch = await buildah('from', 'scratch');
  await buildah('add', '--quiet', scratch, makeBase(folder, /-(\w+)-slim$/.exec(base)?.[1] ?? ''), '/');
  await buildah('commit', '--quiet', '--rm', scratch, `docker.io/library/${base}`);
  const network = ['--isolation', 'chroot', '--network', 'host', ...npmMounts(folder)];
  // The OCI format has no HEALTHCHECK.
  await buildah('bud', '--layers', '--format', 'docker', ...network, '-f', dockerfile, '-t', 'triport', '.');
  await buildah('push', '--quiet', '--disable-compression', 'triport', `dir:${join(folder, 'pushed')}`);

  const outputs = join(folder, 'outputs');
  mkdirSync(outputs);
  chmodSync(outputs, 0o777);
  const isolated = ['--isolation', 'chroot', '--cap-drop', 'ALL', '-v', `${outputs}:/output`];
  const name = await buildah('from', 'triport');
  const container = { prefix: [...store, 'run', ...isolated, name, '--'], outputs };
  return {
    ...describeImage(join(folder, 'pushed')),
    /** Runs a command in the container, as the image's user. */
    run: (command: string[], env: Env = {}) => runIn(container, command, env),
    /** Starts a command, and waits until its output matches `written`. */
    start: (command: string[], env: Env, written: RegExp) => startIn(t, container, command, env, written),
  };
}

/** Chooses memory, where the build takes half the time, unless no program may run there. */
function placeFor(folder: string): string | undefined {
  const { stdout } = spawnSync('findmnt', ['--noheadings', '--output', 'OPTIONS', '--target', folder]);
  return /noexec|nodev/.test(String(stdout)) ? process.env.TEST_DISK : folder;
}

/** Returns the options that say where and how buildah keeps images and containers. */
function storeIn(folder: string): string[] {
  const places = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run')];
  const withDriver = (name: string) => [...places, '--storage-driver', name];
  // A container may not put one file system over another; a layer is then a copy of all that is below it.
  const stacks = spawnSync('buildah', [...withDriver('overlay'), 'info']).status === 0;
  return withDriver(stacks ? 'overlay' : 'vfs');
}

/** Makes what the slim image of Node has: a minimal Debian, the user, and this Node and npm. */
function makeBase(folder: string, release: string): string {
  const base = join(folder, 'base');
  // debootstrap uses its own mirror if apt has no lists.
  const targets = spawnSync('apt-get', [
    ...['indextargets', '--format', '$(REPO_URI)'],
    ...[`Codename: ${release}`, 'Component: main', 'Identifier: Packages'],
  ]);
  const mirrors = targets.stdout?.toString().split('\n').filter(Boolean) ?? [];
  execFileSync('debootstrap', ['--variant=minbase', release, base, ...mirrors.slice(0, 1)], {
    stdio: 'pipe',
  });
  const left = [
    'var/cache/apt',
    'var/lib/apt/lists',
    ...['doc', 'info', 'locale', 'man'].map(name => `usr/share/${name}`),
  ];
  for (const path of left) rmSync(join(base, path), { recursive: true, force: true });
  execFileSync('chroot', [base, 'useradd', '--uid', '1000', '--create-home', 'node'], { stdio: 'pipe' });
  const local = join(base, 'usr/local');
  cpSync(process.execPath, join(local, 'bin/node'));
  const npm = dirname(dirname(realpathSync(join(folderOf('npm') ?? '', 'npm'))));
  cpSync(npm, join(local, 'lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  return base;
}

/** Lets npm in a build reach the packages as npm does on this machine: its settings, its cache and its authorities. */
function npmMounts(folder: string): string[] {
  const listed = execFileSync('npm', ['config', 'list', '--json'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const { userconfig, globalconfig, registry, cafile, cache } = JSON.parse(listed.toString());
  const authorities = cafile ?? process.env.NODE_EXTRA_CA_CERTS ?? process.env.SSL_CERT_FILE;
  const settings = [globalconfig, userconfig]
    .filter(existsSync)
    .map(file => readFileSync(file, 'utf8'))
    // `prefer-offline` takes what the cache has without asking the registry.
    .concat(`registry=${registry}`, 'prefer-offline=true', authorities ? 'cafile=/root/authorities.pem' : '');
  const npmrc = join(folder, 'npmrc');
  writeFileSync(npmrc, settings.join('\n'), { mode: 0o600 });
  const mounts = {
    [npmrc]: '/root/.npmrc:ro',
    [cache]: '/root/.npm',
    [authorities]: '/root/authorities.pem:ro',
  };
  return Object.entries(mounts).flatMap(([from, to]) => (existsSync(from) ? ['-v', `${from}:${to}`] : []));
}

/** Reads the manifest and the configuration of an image that was pushed into a folder. */
function describeImage(folder: string) {
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const manifest = read('manifest.json');
  const { config, history }: Description = read(manifest.config.digest.replace('sha256:', ''));
  const steps = history.filter(({ empty_layer: empty }) => !empty);
  const sizes: { size: number }[] = manifest.layers;
  const layers = sizes.map(({ size }, i) => ({
    step: String(steps[i]?.created_by)
      .replace(/^\/bin\/sh -c (#\(nop\) )?/, '')
      .trim(),
    bytes: size,
  }));
  return { config, layers };
}

type Env = Record<string, string>;

interface Container {
  /** The arguments of buildah before a command. */
  prefix: string[];
  /** The folder that the container sees as /output. */
  outputs: string;
}

/** Spawns a command whose output goes to a file, because buildah may exit before it has passed all of it on. */
function spawnIn({ prefix, outputs }: Container, command: string[], env: Env) {
  const name = randomUUID();
  // The shell becomes the command, so its id is that of the command.
  const script = 'echo $$ >"/output/$0.pid"; exec env "$@" >"/output/$0" 2>&1';
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const args = [...prefix, 'sh', '-c', script, name, ...variables, ...command];
  const child = spawn('buildah', args, { stdio: 'ignore' });
  const ended: Promise<number | string> = once(child, 'exit').then(([code, signal]) => code ?? signal);
  const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  const output = () => read(join(outputs, name));
  const pid = () => Number(read(join(outputs, `${name}.pid`)));
  const kill = async () => {
    if (child.exitCode === null && pid() > 0) process.kill(pid(), 'SIGKILL');
    await ended;
  };
  return { child, ended, output, pid, kill };
}

async function runIn(container: Container, command: string[], env: Env) {
  const { ended, output, kill } = spawnIn(container, command, env);
  const timer = setTimeout(kill, 60_000);
  const code = await ended;
  clearTimeout(timer);
  return { code, output: output() };
}

async function startIn(t: Test, container: Container, command: string[], env: Env, written: RegExp) {
  const { child, ended, output, pid, kill } = spawnIn(container, command, env);
  t.teardown(kill);
  const what = command.join(' ');
  await until(`${what} has started`, () => written.test(output()) || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`${what} ended with ${child.exitCode}: ${output()}`);
  /** `pid` is what `docker stop` signals: process 1 of the container. */
  return { pid: pid(), ended };
}
