import type { Log } from '../../core/log.ts';
import { connectProbe, type Server } from './client.ts';
import type { Pool } from './pool.ts';

/** All times are in milliseconds. */
const checkEvery = 2000;
const retryEvery = 250;
/** Longer than a busy server ever needs for `select 1`. A dead one may keep a socket silent for 15 minutes. */
const patience = 5000;

interface Listeners {
  onAnswer: () => void;
  onSilence: (error: unknown) => void;
  /** Whether asking again is pointless. */
  isFinal: (error: unknown) => boolean;
}

/** Asks a server for a sign of life, again and again, and says when it goes away and when it is back. */
export function watchServer(server: Server, log: Log, { onAnswer, onSilence, isFinal }: Listeners) {
  let reachable = true;
  let closed = false;
  const pause = makePause();
  const lookNow = () => void (reachable && pause.end());
  // Alone on its connection, so that its answer never waits behind other work: a late one means a dead server.
  const probe = connectProbe(server.url, log, { onclose: lookNow, prepare: !server.pooled });

  let asked: Promise<void> | undefined;
  function ping(): Promise<void> {
    asked ??= answerOf(probe)
      .then(() => {})
      .finally(() => {
        asked = undefined;
      });
    return asked;
  }

  async function look(): Promise<void> {
    try {
      await ping();
      if (!reachable) log.info('The database is back.');
      reachable = true;
      onAnswer();
    } catch (error) {
      closed ||= isFinal(error);
      if (closed) return;
      if (reachable) log.error({ err: error }, 'The database is out of reach. Trying until it is back.');
      reachable = false;
      onSilence(error);
    }
  }
  async function watch() {
    while (!closed) {
      await look();
      if (!closed) await pause.begin(reachable ? checkEvery : retryEvery);
    }
  }
  void watch();

  return {
    isReachable: () => reachable,
    ping,
    /** Looks at once, because a connection was lost. */
    lookNow,
    close: async () => {
      closed = true;
      pause.end();
      await probe.close(0);
    },
  };
}

/** The rows that the server answers with; rejects when it does not answer within a bounded time. */
export async function answerOf(
  probe: Pool,
  text = 'select 1',
  limit = patience,
): Promise<Record<string, unknown>[]> {
  let turn: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    // If it was this process that stood still, the answer has arrived and is read before the next turn.
    turn = setImmediate(() => probe.reset());
  }, limit);
  try {
    return await probe.sql.unsafe(text);
  } finally {
    clearTimeout(timer);
    clearImmediate(turn);
  }
}

/** A pause that can be ended early. */
function makePause() {
  let end = () => {};
  return {
    begin: (milliseconds: number) =>
      new Promise<void>(resolve => {
        const timer = setTimeout(resolve, milliseconds);
        end = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    end: () => end(),
  };
}
