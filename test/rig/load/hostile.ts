import { setTimeout as sleep } from 'node:timers/promises';
import { kinds } from './kinds/all.ts';

/** What the hostile clients are told. */
export interface HostileOrders {
  port: number;
  /** The API keys by the names of the kinds that attack. */
  keys: Record<string, string>;
  position: string;
  seconds: number;
}
/** How often each kind got each outcome: a status, or the code of an error or of a WebSocket. */
export type HostileReport = Record<string, Record<string, number>>;

process.once('message', async ({ port, keys, position, seconds }: HostileOrders) => {
  const signal = AbortSignal.timeout(seconds * 1000);
  const report: HostileReport = {};
  for (const [i, { name, attack }] of kinds.entries()) {
    const key = keys[name];
    if (key === undefined) continue;
    const counts: Record<string, number> = {};
    const count = (what: string) => {
      counts[what] = (counts[what] ?? 0) + 1;
    };
    report[name] = counts;
    const target = { port, key, position, from: `127.0.2.${i + 1}`, count };
    attack(target, signal).catch((error: Error) => count(error.message));
  }
  await sleep(seconds * 1000);
  process.send?.(report, () => process.exit());
});
