import { call } from './api.js';
import { openDialog } from './dialogs.js';
import { attempt, badge, facts, h, notify, row, table, time } from './dom.js';
import { goTo, hrefOf, placeNow } from './place.js';
import { poll } from './polling.js';

export const replayable = ['failed', 'dead', 'ignored', 'dismissed'];
export const dismissible = ['failed', 'dead'];

/** Why it had no effect, or why it failed; the error of an earlier round of attempts is no reason. */
export const whyOf = ({ status, reason, lastError, attempts }) =>
  reason ?? (status === 'processed' || attempts === 0 ? '' : (lastError ?? ''));

/** A link that opens the event over the view that is shown. */
export function linkTo(id, text) {
  const { view, query } = placeNow();
  return h('a', { href: hrefOf(view, { ...query, open: id }), 'data-event': id }, text);
}

/** Shows one event, as it is processed. */
export function openEvent(id) {
  const ended = new AbortController();
  const path = `/api/webhook-events/${encodeURIComponent(id)}`;
  const content = h('div', {});
  const said = h('p', { role: 'status' }, 'Loading …');
  const say = text => (said.textContent = text);
  const button = (text, work, options = {}) =>
    h('button', { type: 'button', hidden: true, onclick: attempt(work, say), ...options }, text);
  const replay = button('Replay', () => act('replay', 'replayed'), { class: 'primary' });
  const dismiss = button('Dismiss', () => act('dismiss', 'dismissed'));
  const dialog = h(
    'dialog',
    { class: 'wide', 'aria-labelledby': 'event-title' },
    h('h2', { id: 'event-title' }, 'Event'),
    said,
    content,
    h(
      'p',
      { class: 'actions' },
      replay,
      dismiss,
      h('button', { type: 'button', onclick: () => dialog.close() }, 'Close'),
    ),
  );
  let shown = '';

  function show(event) {
    const text = JSON.stringify(event);
    if (text === shown) return;
    shown = text;
    say('');
    dialog.firstChild.textContent = event.type ?? 'Event';
    content.replaceChildren(...describe(event));
    replay.hidden = !replayable.includes(event.status);
    dismiss.hidden = !dismissible.includes(event.status);
  }

  async function act(action, done) {
    show(await call('POST', `${path}/${action}`));
    notify(`The event is ${done}.`);
    dialog.querySelector('.actions button:last-child').focus();
  }

  openDialog(dialog, () => {
    ended.abort();
    const { view, query } = placeNow();
    const { open, ...others } = query;
    if (open === id) goTo(view, others);
    // The link may have been made again, with another state of the event.
    /** @type {HTMLElement | null} */ (document.querySelector(`[data-event="${CSS.escape(id)}"]`))?.focus();
  });
  poll(async () => show(await call('GET', path, { signal: ended.signal })), { signal: ended.signal, say });
  return dialog;
}

function describe(event) {
  const { customer, provider, failures, body } = event;
  return [
    h('p', {}, badge(event.status), ' ', whyOf(event)),
    facts({
      Customer: customer && h('a', { href: hrefOf('customers', { customer }) }, customer),
      Provider: provider,
      "Provider's id": event.eventId,
      'Id here': event.id,
      Happened: event.occurredAt && time(event.occurredAt),
      Received: time(event.createdAt),
      Processed: event.processedAt && time(event.processedAt),
      Deliveries: String(event.deliveries),
      Attempts: String(event.attempts),
      Replays: String(event.replays),
      Trace: event.traceId,
    }),
    failures.length > 0 && failedAttempts(failures),
    h('h3', {}, 'Body'),
    h('pre', { tabIndex: 0, 'aria-label': 'Body' }, pretty(body)),
  ].filter(Boolean);
}

function failedAttempts(failures) {
  const headers = ['Round', 'Attempt', 'Time', 'Error'];
  const { element, body } = table('Failed attempts', headers);
  const cellsOf = ({ round, attempt, at, error }) => [String(round), String(attempt), time(at), error];
  body.append(...failures.map(failure => row(headers, cellsOf(failure))));
  return element;
}

/** With line breaks if that changes no value: numbers beyond 2^53 would be rounded. */
function pretty(body) {
  try {
    const value = JSON.parse(body);
    const compact = text => text.replace(/\s/g, '');
    return compact(JSON.stringify(value)) === compact(body) ? JSON.stringify(value, null, 2) : body;
  } catch {
    return body;
  }
}
