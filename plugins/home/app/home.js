import { age } from './age.js';
import { themeSwitch } from './theme.js';

document.querySelector('.top .grow')?.after(themeSwitch());

const toast = document.getElementById('toast');
let fading;
/** @type {NodeListOf<HTMLButtonElement>} */
const buttons = document.querySelectorAll('.copy button');
// A page without TLS has no clipboard, unless it comes from this machine.
for (const button of navigator.clipboard ? buttons : []) {
  button.hidden = false;
  button.onclick = async () => {
    const text = button.previousElementSibling?.textContent ?? '';
    toast.textContent = await navigator.clipboard.writeText(text).then(
      () => 'Copied.',
      () => 'The browser does not let this page copy.',
    );
    clearTimeout(fading);
    fading = setTimeout(() => (toast.textContent = ''), 3000);
  };
}

/** @type {NodeListOf<HTMLElement>} */
const cells = document.querySelectorAll('.floor a');

/** Says at a door what came in, and how long ago. */
function answer(door, text) {
  const place = document.getElementById(door);
  const [said, when] = /** @type {any} */ (place.children);
  place.classList.add('came');
  said.textContent = `It works: ${text}`;
  said.title = text;
  when.dataset.at = new Date().toISOString();
  showAges();
}
function showAges() {
  for (const each of document.querySelectorAll('.when[data-at]'))
    each.textContent = age(each.getAttribute('data-at'));
}
setInterval(showAges, 1000);

async function readCounts() {
  const response = await fetch('/', { headers: { accept: 'application/json' } });
  return response.ok ? (await response.json()).counts : undefined;
}

/** Reads the counts again, and marks those that have moved. */
async function count() {
  const counts = (await readCounts()) ?? {};
  for (const cell of cells) {
    const [shown, mark] = cell.children;
    const now = counts[cell.dataset.plural]?.toLocaleString('en') ?? shown.textContent;
    if (now === shown.textContent) continue;
    shown.textContent = now;
    mark.textContent = 'just now';
    setTimeout(() => (mark.textContent = ''), 10_000);
  }
}

let [isWaiting, countedAt] = [false, 0];
/** Counts at once, but not more often than every 3 s: each count takes a request from the limit of this address. */
function countSoon() {
  if (isWaiting) return;
  isWaiting = true;
  setTimeout(
    () => {
      [isWaiting, countedAt] = [false, Date.now()];
      count().catch(() => {});
    },
    Math.max(200, countedAt + 3000 - Date.now()),
  );
}

function hear({ resource, action, record }, title) {
  if (action !== 'change') countSoon();
  if (resource === 'subscription' && record) answer('webhooks', `${record.customer} is ${record.status}`);
  else if (action === 'create') answer('rest', `${record?.[title] ?? resource} came in`);
}

function showState(tone, text) {
  const badge = document.querySelector('.hero .badge');
  badge.className = `badge ${tone}`;
  badge.textContent = text;
}

/** Hears of every change. The browser comes back after a break by itself, but not after a refusal. */
function follow() {
  const changes = new EventSource('/api/changes');
  changes.onopen = () => {
    showState('good', 'ready');
    // What came in before the stream began is counted too.
    countSoon();
  };
  changes.onerror = () => {
    showState('warn', 'no connection');
    if (changes.readyState === EventSource.CLOSED) setTimeout(follow, 15_000);
  };
  for (const { dataset } of cells)
    for (const action of ['create', 'change', 'delete'])
      changes.addEventListener(`${dataset.name}.${action}`, ({ data }) =>
        hear(JSON.parse(data), dataset.title),
      );
}
if (cells.length > 0) follow();

/** Shows the page again when the database is back. */
async function awaitCounts() {
  if (await readCounts().catch(() => undefined)) location.reload();
  else setTimeout(awaitCounts, 5000);
}
if (document.querySelector('p.floor')) awaitCounts();
