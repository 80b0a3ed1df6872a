/** Seconds. */
const [usual, longest] = [3, 60];

/**
 * Runs work now and every few seconds, until the signal ends it. It rests while the page is hidden, and waits longer after
 * each failure. `say` gets the error in words, and an empty text once the work succeeds.
 */
export async function poll(work, { signal, say, every = usual }) {
  let failures = 0;
  while (!signal.aborted) {
    let wait = every;
    try {
      if (!document.hidden) await work();
      if (failures > 0) say('');
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (!error.isPassing) return say(error.message);
      failures += 1;
      wait = Math.min(Math.max(error.retryAfter, usual * 2 ** failures), longest);
      say(`${error.message} Trying again in ${wait} s.`);
    }
    await pause(wait, signal);
  }
}

/** Ends early when the page is looked at again. */
function pause(seconds, signal) {
  return new Promise(resolve => {
    const ended = new AbortController();
    const end = () => {
      clearTimeout(timer);
      ended.abort();
      resolve();
    };
    const timer = setTimeout(end, seconds * 1000);
    document.addEventListener('visibilitychange', () => !document.hidden && end(), { signal: ended.signal });
    signal.addEventListener('abort', end, { signal: ended.signal });
  });
}
