import { call } from './api.js';
import { h } from './dom.js';
import { hrefOf } from './place.js';
import { poll } from './polling.js';

const names = { received: 'Waiting', failed: 'Retrying', dead: 'Dead' };

/** Keeps the numbers of the queue up to date. */
export function followBacklog(element) {
  const signal = new AbortController().signal;
  const show = async () => {
    const { counts, oldestWaitingSeconds: oldest } = await call('GET', '/api/webhook-backlog');
    const numbers = Object.entries(names).map(([status, name]) =>
      fact(
        name,
        h('a', { href: hrefOf('events', { status }), class: counts[status] && status }, counts[status]),
      ),
    );
    element.replaceChildren(...numbers, fact('Oldest waits', durationOf(oldest)));
  };
  // When the service is away, the view says so.
  poll(show, { signal, say: () => {}, every: 5 });
}

const fact = (name, value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));

function durationOf(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
