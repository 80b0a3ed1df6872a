import { call, poll } from './api.js';
import { audit } from './audit.js';
import { customers } from './customers.js';
import { addressNow, notify, viewAddress } from './dom.js';
import { events } from './events.js';
import { hasKey } from './key.js';
import { keys } from './keys.js';
import { showList } from './list.js';
import { openRecord } from './record.js';
import { users } from './users.js';

const views = { events, customers, users, keys, audit };
const byId = id => document.getElementById(id);

let shown;
let leave = new AbortController();
let opened;

/** Shows what the URL names. A record opens over its list, which stays as it is. */
function show() {
  const now = addressNow();
  const name = Object.hasOwn(views, now.view) ? now.view : 'events';
  const { open, ...query } = now.query;
  const address = viewAddress(name, query);
  if (address !== shown) showView(name, query);
  shown = address;
  const { record } = views[name];
  if (open === opened?.id && name === opened?.name) return;
  opened?.dialog.close();
  opened = open && record && { id: open, name, dialog: openRecord(open, record) };
}

function showView(name, query) {
  leave.abort();
  leave = new AbortController();
  for (const link of document.querySelectorAll('nav a'))
    link.ariaCurrent = link.getAttribute('href') === `#${name}` ? 'page' : null;
  notify('');
  byId('view').replaceChildren();
  // A view gets the focus, except the first: the page begins at its top.
  if (shown !== undefined) byId('view').focus();
  showList(byId('view'), views[name], query, leave.signal);
}

/** Shows the numbers of the queue. */
async function showBacklog() {
  const { counts, oldestWaitingSeconds: oldest } = await call('GET', '/api/webhook-backlog');
  for (const [status, count] of Object.entries(counts)) {
    byId(status).textContent = String(count);
    byId(status).className = count > 0 ? status : '';
  }
  byId('oldest').textContent = oldest < 100 ? `${Math.round(oldest)} s` : `${Math.round(oldest / 60)} min`;
  byId('forget').hidden = !hasKey();
}

byId('forget').onclick = () => location.reload();
addEventListener('hashchange', show);
show();
// Errors go nowhere: when the service is away, the view says so.
poll(showBacklog, new AbortController().signal, {});
