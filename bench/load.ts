import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '#src/core/errors.ts';
import type { BenchDatabase } from './database.ts';
import { cpuOf } from './processes.ts';
import { choose, type Sent, type Workload } from './workloads.ts';

export interface Target {
  name: string;
  origin: string;
  pid: number;
  database: BenchDatabase;
  /** The server's id of the user, and of the burrow, with this number. */
  idOf: (number: number) => string;
}
export interface Figures {
  /** CPU milliseconds of a request. */
  server: number;
  postgres: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** The bytes of an answer with its headers. */
  bytes: number;
}

export const cpu = ({ server, postgres }: Figures) => server + postgres;

const connections = 50;
/** Seconds for compiling the code and filling the caches. */
const warmUp = 2;
/** How many requests are made beforehand. A user sent twice would be refused, and an event sent twice costs less. */
const made = { repeated: 20_000, newPerSecond: 15_000 };

export function checkWrk(): void {
  if (spawnSync('wrk', ['--version']).error)
    throw new OperatorError('The load comes from wrk, which is not installed: apt-get install wrk');
}

/** Loads a server for some seconds; the cost of its answers includes the work that they leave behind. */
export async function load(workload: Workload, target: Target, seconds: number): Promise<Figures> {
  const { pid, database } = target;
  send(workload, target, warmUp);
  await checkAnswer(workload, target);
  await database.settled();
  await database.tidy();
  const before = { server: cpuOf(pid), postgres: cpuOf(database.pid) };
  const { requests, bytes, p50, p99 } = send(workload, target, seconds);
  await database.settled();
  return {
    server: (cpuOf(pid) - before.server) / requests,
    postgres: (cpuOf(database.pid) - before.postgres) / requests,
    p50: p50 / 1000,
    p99: p99 / 1000,
    bytes: bytes / requests,
  };
}

/** Compares one answer with what was asked for: of the answers that are timed, wrk sees only the status. */
async function checkAnswer(workload: Workload, { name, origin, idOf }: Target): Promise<void> {
  const choice = choose(idOf);
  const { path, ...request } = workload.request(choice);
  const answer = await fetch(origin + path, request);
  const text = await answer.text();
  try {
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    workload.check(text.startsWith('{') ? JSON.parse(text) : text, choice);
  } catch (error) {
    throw new OperatorError(`${workload.name}, ${name}: wrong answer ${text.slice(0, 300)}\n${error}`);
  }
}

/** Sends requests with wrk; an answer that is an error ends the run. */
function send(workload: Workload, { name, origin, database, idOf }: Target, seconds: number) {
  const count = workload.isNew ? made.newPerSecond * seconds : made.repeated;
  const texts = Array.from({ length: count }, () => textOf(workload.request(choose(idOf))));
  const file = join(database.folder, 'requests');
  writeFileSync(file, texts.join('\x1e'));
  const script = join(import.meta.dirname, 'send.lua');
  const flags = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script];
  const { stdout, stderr } = spawnSync('wrk', [...flags, origin, '--', file], { encoding: 'utf8' });
  const line = stdout.trim().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) throw new OperatorError(`wrk failed: ${stderr || stdout}`);
  const result: Record<'requests' | 'wrong' | 'bytes' | 'p50' | 'p99', number> = JSON.parse(line);
  const { requests, wrong } = result;
  const failed = `${workload.name}, ${name}: ${wrong} of ${requests} answers are errors or missing`;
  if (wrong > 0 || requests === 0) throw new OperatorError(failed);
  // Requests in flight at the end were sent as well.
  if (workload.isNew && requests + connections > count) throw new Error('Requests were sent twice.');
  return result;
}

/** A request as it is sent. */
function textOf({ method, path, headers, body = '' }: Sent): string {
  const lines = Object.entries(headers).map(pair => pair.join(': '));
  return [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', ...lines, '', body].join('\r\n');
}
