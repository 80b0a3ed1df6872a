import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '#src/core/errors.ts';

interface PartOptions {
  name: string;
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** The file that gets its output. */
  log: string;
  /** Polled until it is true; `written` returns the output since the start. */
  ready: (written: () => string) => boolean | Promise<boolean>;
  /** The user that it runs as. */
  owner?: { uid?: number; gid?: number };
}

/** The only variables that a child process inherits; the compile cache makes it start faster. */
export function inherited(): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) };
}

const started: Part[] = [];
// Ends the started processes: they are in groups of their own, which Ctrl-C does not reach.
process.on('exit', () => started.forEach(part => void part.signal('SIGTERM')));

/** One process of a cluster, which can be started, stopped, killed and restarted. */
export class Part {
  readonly name: string;
  readonly #options: PartOptions;
  #child: ChildProcess | undefined;

  constructor(options: PartOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async start(): Promise<void> {
    const { command, args, env = {}, log, ready, owner } = this.#options;
    const output = openSync(log, 'a');
    const before = fstatSync(output).size;
    const written = () => readFileSync(log).subarray(before).toString();
    // `detached` makes a process group of it and of the processes that it starts.
    this.#child = spawn(command, args, {
      env: { ...inherited(), ...env },
      stdio: ['ignore', output, output],
      detached: true,
      ...owner,
    });
    closeSync(output);
    started.push(this);
    await once(this.#child, 'spawn').catch((error: Error) => {
      this.#child = undefined;
      throw new OperatorError(`${this.name} does not start: ${error.message}`);
    });
    // An error event without a listener would end this process.
    this.#child?.on('error', () => {});
    await until(`${this.name} is ready (it writes to ${log})`, async () => {
      if (!this.running)
        // The message has the last line of the log, which is removed with the folder of the cluster.
        throw new OperatorError(`${this.name} does not start: ${written().trimEnd().split('\n').at(-1)}`);
      return ready(written);
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** The ids of the processes that it started. */
  children(): string[] {
    const { stdout } = spawnSync('pgrep', ['-P', String(this.#child?.pid)]);
    return stdout.toString().split('\n').filter(Boolean);
  }

  /** Stops the process and waits for its exit. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (!this.running || !this.#child) return;
    const gone = once(this.#child, 'exit');
    // SIGKILL goes to the whole group: the workers of a killed nginx would keep running and hold its port.
    if (signal === 'SIGKILL' && this.#child.pid !== undefined) process.kill(-this.#child.pid, signal);
    else this.#child.kill(signal);
    await gone;
  }
}

/**
 * Waits for a condition; the generous limit keeps a broken test from hanging. `what` may be a function that says what
 * is still missing when the time is over.
 */
export async function until(
  what: string | (() => string),
  check: () => boolean | Promise<boolean>,
  seconds = 60,
) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(20)) if (await check()) return;
  throw new OperatorError(`Not within ${seconds} s: ${typeof what === 'string' ? what : what()}`);
}

/** Whether this URL answers with a 2xx status. */
export const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    async reply => {
      await reply.arrayBuffer();
      return reply.ok;
    },
    () => false,
  );
