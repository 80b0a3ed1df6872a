import { call, isPassingStatus, poll } from './api.js';
import { addressNow, addressOf, attempt, button, fill, html, icon, isSoon, link, notify } from './dom.js';
import { showNew } from './editor.js';
import { extras } from './extras.js';
import { jump } from './jump.js';
import { hasKey } from './key.js';
import { pressKey } from './keyboard.js';
import { showList } from './list.js';
import { follow, onChange } from './live.js';
import { showOverview } from './overview.js';
import { showRecord } from './record.js';
import {
  forgetNames,
  isAdmin,
  isTheirs,
  listAt,
  listNamed,
  readCounts,
  readDocument,
  service,
} from './service.js';
import { themeSwitch } from './theme.js';

const main = html`<main id="main" class="page" tabindex="-1"></main>`;
const side = html`<nav class="side" id="side" popover aria-label="Console"></nav>`;
const live = html`<span class="live" role="status"></span>`;
const who = button('', () => location.reload(), 'quiet');
who.hidden = true;
const always = new AbortController().signal;

document.body.prepend(html`<div class="shell"><header class="top">
  <button type="button" class="quiet only-narrow" aria-label="Menu" popovertarget="side">${icon('menu')}</button>
  <a class="brand" href="/"><span class="mark"></span>${document.title.replace(/ console$/, '')}</a>
  <button type="button" class="jump" @click=${jump}>${icon('search')}<span class="grow">Go to a page or a record</span><kbd aria-hidden="true">Ctrl K</kbd></button><span class="grow"></span>${live}${who}${themeSwitch()}</header>${side}${main}</div>`);

const icons = { 'webhook-events': 'inbox', subscriptions: 'person', keys: 'key', audit: 'log' };
/** The lists that the caller may read, with how many records they have. */
function drawSide() {
  const { list: at } = addressNow();
  const number = path =>
    service.counts[path] !== undefined &&
    html`<span class="n">${service.counts[path].toLocaleString('en')}</span>`;
  const dead =
    service.dead > 0 && html`<span class="n alert">${service.dead}<span class="unseen"> dead</span></span>`;
  const entry = (text, path) =>
    html`<a href=${addressOf(path)} aria-current=${path === at && 'page'}>${icon(icons[path] ?? (path === 'overview' ? 'chart' : 'table'))}${text}${path === 'webhook-events' ? dead : number(path)}</a>`;
  const groups = [...Map.groupBy(service.lists, ({ group }) => group)];
  const lists = groups.map(([group, all]) => [
    html`<h2>${group}</h2>`,
    all.map(({ label, path }) => entry(label, path)),
  ]);
  const content = html`<div>${isAdmin() && entry('Overview', 'overview')}${lists}
    <h2>Explore</h2><a href="/docs">${icon('docs')}REST reference</a><a href="/api/graphql">${icon('graph')}GraphiQL</a>
    <footer class="small faint">Version ${service.version}<br>${service.database === 'embedded' ? 'Embedded database' : 'PostgreSQL'}</footer></div>`;
  if (side.firstElementChild?.isEqualNode(content)) return;
  // Who has come here by the keyboard stays here.
  const href = side.contains(document.activeElement) && document.activeElement?.getAttribute('href');
  fill(side, content);
  if (href) side.querySelector(`[href="${href}"]`)?.focus();
}

let isDrawing = false;
let leave = new AbortController();
let keys = /** @type {any} */ ({});
let isFirst = true;
/** Shows what the URL names. */
async function show() {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const { list: path } = addressNow();
  if (path === 'overview' && !isAdmin() && service.lists.length > 0)
    return location.replace(addressOf(service.lists[0].path));
  const list = listAt(path);
  document.title = `${list?.label ?? path} · ${service.name}`;
  side.hidePopover();
  drawSide();
  const view = html`<div></div>`;
  keys = {};
  // A view takes the place of the one before when it is there: nothing is empty in between.
  if (isFirst) fill(main, view);
  try {
    const showing = showView(view, list, signal);
    main.classList.toggle('waits', !(await isSoon(showing)));
    keys = (await showing) ?? {};
  } catch (error) {
    if (error.name === 'AbortError') return;
    fill(view, failed(error, list, signal));
  }
  if (signal.aborted) return;
  main.classList.remove('waits');
  const before = /** @type {HTMLInputElement} */ (document.activeElement);
  fill(main, view);
  if (!isFirst) focusIn(view, before);
  isFirst = false;
}

/** A view gets the focus, except the first: the page begins at its top. One who searches types on, and loses nothing. */
function focusIn(view, before) {
  const isSearching = before?.matches('[type="search"]') && before.value !== before.defaultValue;
  const search = isSearching && view.querySelector(`[type="search"][name="${before.name}"]`);
  const field = search || view.querySelector('form.new :is(input, textarea, select)');
  if (field) field.focus();
  else if (!document.querySelector('dialog[open]')) main.focus({ preventScroll: true });
  if (!search) return;
  if (search.value !== before.value) {
    search.value = before.value;
    search.dispatchEvent(new Event('input'));
  }
  search.setSelectionRange(-1, -1);
}

async function showView(view, list, signal) {
  const { list: path, id, query } = addressNow();
  if (path === 'overview') return showOverview(view, query, signal);
  if (!list || (id === 'new' && !(list.create && !extras(list).create && isTheirs(list))))
    return void view.append(refused(path));
  if (id === 'new') return showNew(view, list, query, signal);
  return id === undefined ? showList(view, list, query, signal) : showRecord(view, list, id, signal);
}

/** Says why there is no view, and tries again by itself when that may help. */
function failed({ message, status }, list, signal) {
  const { id } = addressNow();
  const isPassing = isPassingStatus(status);
  const timer = isPassing && setTimeout(() => signal.aborted || show(), 5000);
  signal.addEventListener('abort', () => clearTimeout(timer));
  const missing = status === 404 && list && extras(list).missing?.(id);
  return html`<div class="empty" role="alert"><h1>${message}</h1><p>${isPassing && 'Trying again in 5 s.'}</p>${missing}
    ${list && link(`All ${list.nouns}`, list.path)}</div>`;
}

function refused(path) {
  const { name, scopes } = service.caller;
  return html`<div class="empty" role="alert"><h1>There is nothing for you at “${path}”.</h1><p>${name} has the scope ${scopes.join(', ')}. A key with another one may see more.</p></div>`;
}

/** Reads who asks, and what there is for them. */
async function begin() {
  forgetNames();
  await readDocument();
  await readCounts().catch(() => {});
  const { name, scopes, kind } = service.caller;
  const scope = html`<span class="scope">${scopes.at(-1)}</span>`;
  fill(
    who,
    kind === 'anyone' ? 'Open to all' : [icon('key'), html`<span class="only-wide">${name}</span>`, scope],
  );
  who.hidden = false;
  who.classList.toggle('only-wide', kind === 'anyone');
  who.title = hasKey() ? 'Forget the key' : '';
  await show();
}

async function readBacklog() {
  if (isAdmin()) service.dead = (await call('GET', '/api/webhook-backlog')).counts.dead;
  drawSide();
}

addEventListener('keydown', event => pressKey(event, keys));
// Not one at a time: a view that is still being read gives way to the next one.
addEventListener('hashchange', () => show().catch(error => notify(error.message)));
addEventListener('newkey', attempt(begin));
onChange(change => {
  const { path = '' } = listNamed(change?.resource) ?? {};
  forgetNames(change && path);
  if (!(path in service.counts)) return;
  service.counts[path] += { create: 1, delete: -1 }[change.action] ?? 0;
  // Once for all that come at once.
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    drawSide();
  });
}, always);
await attempt(begin)();
poll(readBacklog, always, {});
follow(always, isLive => {
  live.classList.toggle('waits', isLive === false);
  fill(live, isLive !== undefined && (isLive ? 'Live' : 'Reconnecting'));
});
