import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '#src/database/database.ts';

/** Milliseconds between two notifications. Each takes a lock that all commits with a notification share. */
const atMostEvery = 20;

export type Calls = ReturnType<typeof openCalls>;

/**
 * Lets those who add events to the queue call the workers: those of this process directly, or if it has none, those of
 * other processes.
 */
export function openCalls({ messages, available }: Pick<Database, 'messages' | 'available'>) {
  const workers: (() => void)[] = [];
  let calling = false;
  async function callOthers() {
    if (calling || !messages) return;
    calling = true;
    await sleep(atMostEvery, undefined, { ref: false });
    calling = false;
    if (available()) await messages.send('work');
  }
  return {
    call: () => {
      for (const work of workers) work();
      // A lost call costs at most a second, because workers also look by themselves.
      if (workers.length === 0) callOthers().catch(() => {});
    },
    onCall: (work: () => void) => {
      workers.push(work);
      messages?.onMessage('work', work);
    },
  };
}
