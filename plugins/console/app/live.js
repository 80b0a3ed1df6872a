import { send } from './api.js';

/** Those who want to know of changes: each gets the change, or nothing when some may have been missed. */
const listeners = new Set();
export function onChange(listener, signal) {
  listeners.add(listener);
  signal.addEventListener('abort', () => listeners.delete(listener));
}
const tell = change => {
  for (const listener of listeners) listener(change);
};

/** Follows the changes until the signal ends it, and comes back where it was; `said` learns whether they arrive. */
export async function follow(signal, said) {
  let position;
  let isBehind = false;
  while (!signal.aborted) {
    try {
      const headers = position ? { 'last-event-id': position } : {};
      const response = await send('/api/changes', { headers, signal });
      if (response.status === 403 || response.status === 404) return said(undefined);
      if (response.status === 410) {
        position = undefined;
        tell(undefined);
      }
      if (response.ok) {
        said(true);
        // Without a position, what was changed meanwhile is not known.
        if (isBehind) tell(undefined);
        isBehind = false;
        for await (const event of eventsIn(response.body.pipeThrough(new TextDecoderStream()))) {
          position = event.id ?? position;
          if (event.data) tell(JSON.parse(event.data));
        }
      }
    } catch {
      // The service is away, or the page is left.
      isBehind ||= position === undefined;
    }
    if (!signal.aborted) said(false);
    await new Promise(resolve => setTimeout(resolve, 3000));
  }
}

/** The events of a stream (WHATWG, server-sent events). */
async function* eventsIn(stream) {
  let rest = '';
  for await (const chunk of stream) {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop();
    for (const event of events)
      yield Object.fromEntries(event.split('\n').map(line => line.split(/: ?(.*)/s, 2)));
  }
}
