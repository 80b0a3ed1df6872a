import { age } from './age.js';
import { themeSwitch } from './theme.js';

document.querySelector('.top .grow')?.after(themeSwitch());

const toast = document.getElementById('toast');
/** @type {NodeListOf<HTMLButtonElement>} */
const buttons = document.querySelectorAll('.copy button');
// A page without TLS has no clipboard, unless it comes from this machine.
for (const button of navigator.clipboard ? buttons : []) {
  button.hidden = false;
  button.onclick = async () => {
    await navigator.clipboard.writeText(button.previousElementSibling?.textContent ?? '');
    toast.textContent = 'Copied.';
    setTimeout(() => (toast.textContent = ''), 3000);
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

/** Reads the counts again, and marks those that have moved. */
async function count() {
  const response = await fetch('/', { headers: { accept: 'application/json' } });
  const { counts = {} } = await response.json();
  for (const cell of cells) {
    const [shown, mark] = cell.children;
    const now = counts[cell.dataset.plural]?.toLocaleString('en') ?? shown.textContent;
    if (now === shown.textContent) continue;
    shown.textContent = now;
    mark.textContent = 'just now';
    setTimeout(() => (mark.textContent = ''), 10_000);
  }
}

let isCounting = false;
/** Counts once for all that comes in at once. */
function countSoon() {
  if (isCounting) return;
  isCounting = true;
  setTimeout(() => {
    isCounting = false;
    count().catch(() => {});
  }, 500);
}

function hear({ resource, action, record }, title) {
  if (action !== 'change') countSoon();
  if (resource === 'subscription' && record) answer('webhooks', `${record.customer} is ${record.status}`);
  else if (action === 'create') answer('rest', `${record?.[title] ?? resource} came in`);
}

/** Hears of every change. The browser comes back after a break by itself, but not after a refusal. */
function follow() {
  const changes = new EventSource('/api/changes');
  // What came in before the stream began is counted too.
  changes.onopen = countSoon;
  changes.onerror = () => changes.readyState === EventSource.CLOSED && setTimeout(follow, 5000);
  for (const { dataset } of cells)
    for (const action of ['create', 'change', 'delete'])
      changes.addEventListener(`${dataset.name}.${action}`, ({ data }) =>
        hear(JSON.parse(data), dataset.title),
      );
}
if (cells.length > 0) follow();
