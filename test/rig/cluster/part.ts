import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../../src/core/errors.ts';

interface Recipe {
  name: string;
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** Where its output goes. */
  log: string;
  /** Asked until it is true; `written` is what it has written since it was started. */
  ready: (written: () => string) => boolean | Promise<boolean>;
}

/** All that a process gets from the environment of its parent: what is compiled already loads sooner. */
export function inherited(): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) };
}

/** One process of a cluster: started and waited for, stopped or killed, started again. */
export class Part {
  readonly name: string;
  readonly #recipe: Recipe;
  #child: ChildProcess | undefined;

  constructor(recipe: Recipe) {
    this.name = recipe.name;
    this.#recipe = recipe;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async start(): Promise<void> {
    const { command, args, env = {}, log, ready } = this.#recipe;
    const output = openSync(log, 'a');
    const before = fstatSync(output).size;
    const written = () => readFileSync(log).subarray(before).toString();
    // A group of its own: Ctrl-C is for the one who ends them in order, not for all at once.
    this.#child = spawn(command, args, {
      env: { ...inherited(), ...env },
      stdio: ['ignore', output, output],
      detached: true,
    });
    closeSync(output);
    await once(this.#child, 'spawn').catch((error: Error) => {
      this.#child = undefined;
      throw new OperatorError(`${this.name} does not start: ${error.message}`);
    });
    // Unheard, a later one would end this process.
    this.#child?.on('error', () => {});
    await untilTrue(`${this.name} is ready (it writes to ${log})`, async () => {
      if (!this.running)
        // Its last words, because its log goes with the folder of the cluster.
        throw new OperatorError(`${this.name} does not start: ${written().trimEnd().split('\n').at(-1)}`);
      return ready(written);
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Ends it and waits until it is gone. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (!this.running || !this.#child) return;
    const gone = once(this.#child, 'exit');
    // The whole group: workers of a killed nginx would go on, and keep its port from the next one.
    if (signal === 'SIGKILL' && this.#child.pid !== undefined) process.kill(-this.#child.pid, signal);
    else this.#child.kill(signal);
    await gone;
  }
}

/** Waits for something to become true. */
export async function untilTrue(
  what: string,
  check: () => boolean | Promise<boolean>,
  seconds = 60,
): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(50)) if (await check()) return;
  throw new OperatorError(`Not within ${seconds} s: ${what}`);
}

/** Whether this address answers with success. */
export const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    async reply => {
      await reply.arrayBuffer();
      return reply.ok;
    },
    () => false,
  );
