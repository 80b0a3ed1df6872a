import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { mainOf } from '#src/command.ts';
import { openEvents } from '#test/helper/eventStream.ts';
import { idOf, openBenchDatabase } from './database.ts';
import { checkWrk, load } from './load.ts';
import { cpuOf, memoryOf, start, stopAll } from './processes.ts';
import { workloads } from './workloads.ts';

const usage = `node bench/changes.ts: measures the stream of changes: what readers cost a write, how soon another instance shows
it, and what 2,000 readers need. Needs wrk and Linux.`;

/** Opens readers in a process of their own, which reads while this one waits for wrk. */
async function openReaders(origin: string, amount: number) {
  const script = `${import.meta.dirname}/readers.ts`;
  const child: ChildProcess = spawn(process.execPath, [
    '--no-warnings',
    script,
    `${origin}/api/changes`,
    `${amount}`,
  ]);
  child.stderr?.pipe(process.stderr);
  const lines: string[] = [];
  child.stdout?.on('data', data => lines.push(String(data).trim()));
  while (lines.length === 0) await sleep(20);
  return async () => {
    child.kill();
    await once(child, 'close');
    return Number(lines.at(-1));
  };
}

const create = (origin: string, name: string) =>
  fetch(`${origin}/api/users`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Ada', email: `${name}.${Date.now()}@example.com` }),
  }).then(async response => ((await response.json()) as { id: string }).id);

/** Milliseconds from a request at one instance until the other one shows the change. */
async function delays(from: string, to: string): Promise<number[]> {
  const stream = await openEvents(undefined, `${to}/api/changes`);
  // Gives the writer time to hear that somebody follows.
  await sleep(2500);
  const all: number[] = [];
  for (let i = 0; i < 200; i++) {
    const began = performance.now();
    const id = await create(from, `delay${i}`);
    await stream.next(1, ({ data }) => data?.id === id);
    all.push(performance.now() - began);
    await sleep(10 + Math.random() * 40);
  }
  stream.close();
  return all.sort((a, b) => a - b);
}

async function main() {
  checkWrk();
  const database = await openBenchDatabase();
  const settings = {
    NODE_ENV: 'production',
    AUTH_MODE: 'open',
    LOG_LEVEL: 'warn',
    DATABASE_URL: database.url,
    RATE_LIMIT_MAX: '1000000000',
    MAX_IN_FLIGHT: '30000',
    WEBHOOK_SECRETS: '{"stripe":["whsec_bench"]}',
  };
  const command =
    'exec node --disable-warning=ExperimentalWarning --import ./test/world/register.ts src/main.ts';
  const [W3] = workloads.filter(({ name }) => name === 'W3');
  try {
    const [one, two] = [await start(command, 4101, settings), await start(command, 4102, settings)];
    const target = { name: 'service', database, idOf, ...one };
    for (const amount of [0, 1, 500, 0]) {
      const stop = amount > 0 ? await openReaders(one.origin, amount) : async () => 0;
      await sleep(2000);
      if (!W3) throw new Error('There is no W3.');
      const { server, postgres, p50, p99 } = await load(W3, target, 4);
      const events = await stop();
      console.log(
        `W3 with ${amount} readers: ${(server + postgres).toFixed(3)} ms (${server.toFixed(3)} + ${postgres.toFixed(3)}), p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}; ${events} events`,
      );
    }
    const all = await delays(one.origin, two.origin);
    const at = (share: number) => all[Math.floor(all.length * share)]?.toFixed(0);
    console.log(`another instance shows a change after ${at(0.5)} ms at the median, ${at(0.99)} ms at p99`);

    const [idle, amount] = [memoryOf(two.pid), 2000];
    const stop = await openReaders(two.origin, amount);
    await sleep(3000);
    const [before, memory] = [cpuOf(two.pid), memoryOf(two.pid)];
    await sleep(10_000);
    const quiet = cpuOf(two.pid) - before;
    const [began, changes] = [cpuOf(two.pid), 200];
    for (let i = 0; i < changes; i++) {
      await create(one.origin, `many${i}`);
      await sleep(30);
    }
    await sleep(2000);
    const busy = cpuOf(two.pid) - began - (quiet / 10) * 8;
    const events = await stop();
    console.log(
      `${amount} readers: ${(memory - idle).toFixed(0)} MB more, ${memoryOf(two.pid).toFixed(0)} MB in all at the end; ${(quiet / 100).toFixed(1)}% of a core when it is quiet; ${((busy * 1000) / events).toFixed(1)} us for each of ${events} events`,
    );
  } finally {
    await stopAll();
    await database.close();
  }
}

await mainOf(import.meta, { usage, options: {}, run: main });
