import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '#src/database/database.ts';

/** Milliseconds between two notifications. Each takes a lock that all commits with a notification share. */
const atMostEvery = 20;

export type Calls = ReturnType<typeof openCalls>;

/**
 * Lets those who add events or effects to the queue call the workers: those of this process directly, or if it has
 * none, those of other processes.
 */
export function openCalls({ messages, available }: Pick<Database, 'messages' | 'available'>) {
  function callsFor(work: 'events' | 'effects') {
    const looks: (() => void)[] = [];
    let calling = false;
    async function callOthers() {
      if (calling || !messages) return;
      calling = true;
      await sleep(atMostEvery, undefined, { ref: false });
      calling = false;
      if (available()) await messages.send(work);
    }
    return {
      call: () => {
        for (const look of looks) look();
        // A lost call costs at most a second, because workers also look by themselves.
        if (looks.length === 0) callOthers().catch(() => {});
      },
      onCall: (look: () => void) => {
        looks.push(look);
        messages?.onMessage(work, look);
      },
    };
  }
  return { events: callsFor('events'), effects: callsFor('effects') };
}
