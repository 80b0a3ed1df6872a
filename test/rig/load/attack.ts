import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '#src/core/errors.ts';
import { inherited } from '#test/rig/cluster/part.ts';
import type { HonestOrders, HonestReport } from './honest.ts';
import type { HostileOrders, HostileReport } from './hostile.ts';
import { watchMemory } from './memory.ts';
import type { Scene } from './scene.ts';

export type Result = Awaited<ReturnType<typeof attack>>;

interface Turn {
  /** The names of the kinds that attack. */
  hostile: string[];
  seconds: number;
}

/** Starts the service, lets hostile clients attack it beside the honest ones, and returns what became of each. */
export async function attack({ start, keys, position, postgres }: Scene, { hostile, seconds }: Turn) {
  const { server, port } = await start();
  const memory = watchMemory(server.pid);
  const kept = () => sizeOfKept(postgres);
  const before = await kept();
  const [honest, attacker] = [spawn('honest.ts'), spawn('hostile.ts')];
  try {
    const run = `${process.pid}-${port}`;
    honest.send({ port, keys: Object.fromEntries(keys), seconds, run } satisfies HonestOrders);
    await said(honest, 60);
    const own = Object.fromEntries(hostile.map(name => [name, keys.get(name) ?? '']));
    attacker.send({ port, keys: own, position, seconds } satisfies HostileOrders);
    const [got, served] = await Promise.all([
      said<HostileReport>(attacker, seconds + longest),
      said<HonestReport>(honest, seconds + longest),
    ]);
    const lived = server.running;
    const peak = memory();
    const inactive = lived ? await inactiveOf(postgres, served.customers) : served.customers.length;
    return {
      together: hostile.length > 1,
      got,
      ...served,
      inactive,
      lived,
      peak,
      kept: (await kept()) - before,
    };
  } finally {
    memory();
    for (const child of [honest, attacker]) child.kill('SIGKILL');
    await server.stop('SIGKILL');
    // Ends the statements of the service, which go on after its process is gone.
    await postgres.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
    );
  }
}

const spawn = (file: string) =>
  fork(join(import.meta.dirname, file), [], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: inherited(),
  });

/** Seconds beyond their time after which hanging clients are given up: an honest one waits up to 30 s for an answer. */
const longest = 90;

/** The next message of a process. */
async function said<Message>(child: ChildProcess, seconds: number): Promise<Message> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new OperatorError(`The clients ended with ${code}.`);
  });
  const [message] = await Promise.race([
    once(child, 'message', { signal: AbortSignal.timeout(seconds * 1000) }),
    ended,
  ]);
  return message;
}

type Postgres = Scene['postgres'];

/** Returns the MiB of answers that are kept for their keys. */
async function sizeOfKept(postgres: Postgres): Promise<number> {
  const [row] = await postgres.query(
    'select coalesce(sum(octet_length(body)), 0)::float as bytes from idempotency_keys',
  );
  return Number(row?.bytes) / 2 ** 20;
}

/** Counts the customers who have paid and do not become active within 10 s. */
async function inactiveOf(postgres: Postgres, customers: string[]): Promise<number> {
  const list = customers.map(customer => `'${customer}'`).join();
  const text = `select count(*)::int as active from subscriptions where status = 'active' and customer in (${list || 'null'})`;
  let active = 0;
  for (const end = Date.now() + 10_000; active < customers.length && Date.now() < end; await sleep(100))
    active = Number((await postgres.query(text))[0]?.active);
  return customers.length - active;
}
