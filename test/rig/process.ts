import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import type { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import { ask, json } from './cluster/ask.ts';
import { inherited, until } from './cluster/part.ts';
import { flags } from './runner/pool.ts';

/** Returns the path of a script of this project; a whole path, such as one of a copy, stays as it is. */
const pathOf = (script: string) => resolve(import.meta.dirname, '../..', script);

export type Service = ReturnType<typeof spawnService>;

export function makeFolder(t: Test, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'triport-e2e-'));
  // PostgreSQL runs as another user under root, and needs access.
  chmodSync(folder, 0o755);
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A data folder with an empty database, copied because creating one takes seconds. */
export function makeDataFolder(t: Test): string {
  const folder = makeFolder(t);
  cpSync(process.env.TEST_DATA_FOLDER ?? '', folder, { recursive: true });
  return folder;
}

/** The value of NODE_OPTIONS that runs this module first. */
export const preload = (module: string) => `--import=data:text/javascript,${encodeURIComponent(module)}`;

/** The value of NODE_OPTIONS that sets the clock of a process ahead. */
export const clockAhead = (minutes: number) =>
  preload(`const D=Date;globalThis.Date=class extends D{
    constructor(...given){given.length>0?super(...given):super(D.now()+${minutes * 60_000})}static now(){return D.now()+${minutes * 60_000}}}`);

/** Starts the service as `npm start` does, with only this environment, and kills it when the test ends. */
export function spawnService(
  t: Test,
  env: Record<string, string>,
  script = 'src/main.ts',
  options: string[] = [],
) {
  const defaults = {
    HOST: '127.0.0.1',
    PORT: '0',
    RATE_LIMIT_MAX: '1000000',
  };
  const child = spawn(process.execPath, [...flags, ...options, pathOf(script)], {
    // Ignores a developer's .env file.
    cwd: tmpdir(),
    env: { ...inherited(), ...defaults, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended: Promise<number | string> = once(child, 'close').then(([code, signal]) => code ?? signal);
  let errors = '';
  child.stderr.on('data', chunk => {
    errors += chunk;
  });
  const service = {
    child,
    /** The port once it listens, and 0 before. */
    port: 0,
    url: '',
    /** Its log lines so far. */
    lines: [] as { msg: string; level: number }[],
    /** What it wrote to stderr. */
    errors: () => errors,
    /** Its exit code, or the name of the signal that ended it. */
    ended,
    /** Sends a signal and waits for the exit. */
    kill: (signal: NodeJS.Signals = 'SIGKILL') => {
      child.kill(signal);
      return ended;
    },
  };
  createInterface(child.stdout).on('line', line => {
    const entry = JSON.parse(line);
    service.lines.push(entry);
    const port = / serves http:\/\/127\.0\.0\.1:(\d+)/.exec(entry.msg)?.[1];
    if (port) Object.assign(service, { port: Number(port), url: `http://127.0.0.1:${port}` });
  });
  t.teardown(() => service.kill());
  return service;
}

/** Runs a command of the project in this environment until it exits. */
export async function runCommand(
  script: string,
  args: string[] = [],
  env: Record<string, string> = {},
  cwd = tmpdir(),
) {
  const argv = [...flags, pathOf(script), ...args];
  const options = { cwd, env: { ...inherited(), ...env }, timeout: 300_000 };
  const child = spawn(process.execPath, argv, options);
  const output = { out: '', err: '' };
  child.stdout.on('data', data => (output.out += data));
  child.stderr.on('data', data => (output.err += data));
  const [code] = await once(child, 'close');
  return { code, ...output };
}

/** The options of Node that give a process the resources of the tests, too. Its database must have their tables. */
export const withWorld = ['--import', pathOf('test/world/register.ts')];

/** The options of Node that make a process of the service call a sink as its effects. */
export const withSink = ['--import', pathOf('test/rig/effects/register.ts')];

/** Starts the service and waits until it listens and, unless `ready` is false, is ready. */
export async function startService(
  t: Test,
  env: Record<string, string>,
  { ready = true, script = 'src/main.ts', options = [] as string[] } = {},
) {
  const service = spawnService(t, env, script, options);
  await Promise.race([
    until('the service listens', () => service.port > 0, 150),
    service.ended.then(code => {
      throw new Error(`The service ended with ${code}: ${service.errors()}${JSON.stringify(service.lines)}`);
    }),
  ]);
  if (ready) await untilReady(service);
  return service;
}

export const untilReady = (service: Service, seconds?: number) =>
  until(
    'the service is ready',
    async () => (await call(service, 'GET', '/health/ready')).status === 200,
    seconds,
  );

export { until };

/** Sends one request, with a body as JSON. */
export const call = (
  { port }: { port: number },
  method: string,
  path: string,
  body?: unknown,
  agent: Agent | false = false,
) =>
  ask(`http://127.0.0.1:${port}${path}`, { ...(body !== undefined && json(body as object)), method, agent });
