import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '#src/database/database.ts';

/** Milliseconds. Each notification takes a lock that all commits with one share. */
const atMostEvery = 20;

export type Calls = ReturnType<typeof openCalls>;

/**
 * How those who add events to the queue call the workers. A worker of this process is called directly. Without one,
 * those of other processes are called.
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
      // A call that is lost costs a second: workers also look by themselves.
      if (workers.length === 0) callOthers().catch(() => {});
    },
    onCall: (work: () => void) => {
      workers.push(work);
      messages?.onMessage('work', work);
    },
  };
}
