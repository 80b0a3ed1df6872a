import type { Log } from '../../core/log.ts';
import { watchService } from '../../core/watch.ts';
import type { Message } from '../database.ts';
import { connectProbe, type Server } from './client.ts';
import type { Pool } from './pool.ts';

/** All times are in milliseconds. */
const checkEvery = 250;
/** Longer than a busy server ever needs for `select 1`. A dead one may keep a socket silent for 15 minutes. */
const answerTimeout = 5000;

/** How processes send each other messages. */
const channel = 'triport';
export const sending = (message: Message) => `notify ${channel}, '${message}'`;

interface Listeners {
  onAnswer: () => void;
  /** Once, when the server goes away. */
  onSilence: () => void;
  /** Whether to stop asking. */
  isFinal: (error: unknown) => boolean;
  onMessage: (message: string) => void;
}

/** Checks whether a server answers. */
export function watchServer(
  server: Server,
  log: Log,
  { onAnswer, onSilence, isFinal, onMessage }: Listeners,
) {
  // On a connection of its own, so that its answer never waits behind other work: a late one means a dead server.
  const probe = connectProbe(server, {
    onnotify: (_channel, message) => onMessage(message),
  });
  // Each time, because the connection may be a new one. A pooler cannot listen.
  const question = server.pooled ? 'select 1' : `listen ${channel}`;
  const ping = onceAtATime(async () => void (await answerOf(probe, question)));
  const watch = watchService({
    check: async () => {
      await ping().catch(error => {
        if (isFinal(error)) void watch.close();
        throw error;
      });
      onAnswer();
    },
    every: checkEvery,
    onAway: onSilence,
    log,
    away: 'The database is out of reach. Trying until it is back.',
    back: 'The database is back.',
  });

  return {
    ...watch,
    ping,
    close: async () => {
      void watch.close();
      await probe.close(0);
    },
  };
}

/** Calls that come while the work is running share its result. */
export function onceAtATime(work: () => Promise<void>) {
  let running: Promise<void> | undefined;
  return (): Promise<void> => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** The rows of an answer; rejects when the server does not answer in time. */
export async function answerOf(
  probe: Pool,
  text: string,
  timeout = answerTimeout,
): Promise<Record<string, unknown>[]> {
  // In halves: if this process stood still, the first is over at once, and the answer arrives during the second.
  let timer = setTimeout(() => {
    timer = setTimeout(() => probe.reset(), timeout / 2);
  }, timeout / 2);
  try {
    return await probe.sql.unsafe(text);
  } finally {
    clearTimeout(timer);
  }
}
