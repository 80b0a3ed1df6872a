import { showAudit } from './audit.js';
import { followBacklog } from './backlog.js';
import { showCustomers } from './customers.js';
import { h, notify } from './dom.js';
import { openEvent } from './event.js';
import { showEvents } from './events.js';
import { showKeys } from './keys.js';
import { hrefOf, placeNow } from './place.js';

const views = { events: showEvents, customers: showCustomers, keys: showKeys, audit: showAudit };

let shown;
let leave = new AbortController();
let opened;

/** Shows what the URL names; an event opens over the view, which stays as it is. */
function show() {
  const { view, query } = placeNow();
  const { open, ...others } = query;
  const address = hrefOf(view, others);
  if (address !== shown) showView(view, others);
  shown = address;
  if (open === opened?.id) return;
  opened?.dialog.close();
  opened = open && { id: open, dialog: openEvent(open) };
}

async function showView(name, query) {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  for (const link of document.querySelectorAll('nav a'))
    link.ariaCurrent = link.getAttribute('href') === `#${name}` ? 'page' : null;
  notify('');
  const element = document.getElementById('view');
  element.replaceChildren();
  // Not at the first time: the page begins at its top.
  if (shown !== undefined) element.focus();
  try {
    const showIt = Object.hasOwn(views, name) ? views[name] : showEvents;
    await showIt(element, query, signal);
  } catch (error) {
    if (signal.aborted) return;
    const again = () => showView(name, query);
    element.append(
      h(
        'p',
        { role: 'alert' },
        error.message,
        ' ',
        h('button', { type: 'button', onclick: again }, 'Try again'),
      ),
    );
  }
}

document.getElementById('forget').onclick = () => location.reload();
addEventListener('hashchange', show);
show();
followBacklog(document.getElementById('backlog'));
