import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';

/**
 * Exits when V8 has stopped compiling in the background. Node 24.21 joins the threads that compile, and one of them
 * may be waiting for a garbage collection by the main thread: a few in a hundred signals during a start never ended
 * the process (nodejs/node#54918).
 */
export async function exit(code: number): Promise<never> {
  for (const flag of ['--no-maglev', '--no-turbofan']) setFlagsFromString(flag);
  await sleep(100);
  process.exit(code);
}
