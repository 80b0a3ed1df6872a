import { call, poll } from './api.js';
import { addressOf, button, copyButton, count, fill, go, html, icon, isSoon, link } from './dom.js';
import { extras } from './extras.js';
import { activeFilters, filterBar, sortOf, withoutPlace } from './filters.js';
import { onChange } from './live.js';
import { isTheirs, service } from './service.js';
import { lastShown, Table } from './table.js';

/** Records of a page. */
const limit = 25;

/** Shows a list with its filters, and returns what its keys do. */
export async function showList(element, list, query, signal) {
  const extra = extras(list);
  const { '@': selected, ...asked } = query;
  const sort = sortOf(list, query);
  const sent = { ...asked, ...(sort && { sort }) };
  const show = next => go(list.path, undefined, next);
  const turn = to => show({ ...withoutPlace(asked), ...to });
  const table = new Table(list, sort, selected, next => turn({ sort: next }));
  const isNarrowed = activeFilters(list, query).length > 0 || Object.hasOwn(query, 'q');
  const news = newsOf(() => read());
  const total = html`<span class="soft num"></span>`;
  const said = html`<p role="status" class="said"></p>`;
  const empty = html`<div class="empty"></div>`;
  const pager = html`<nav class="pager" aria-label="Pages"></nav>`;
  async function read() {
    const { data, meta } = await call('GET', `/api/${list.path}`, { query: { ...sent, limit }, signal });
    news.tell(0);
    lastShown.address = location.hash;
    fill(total, totalText(meta, isNarrowed && service.counts[list.path]));
    fill(pager, pagesOf(meta, data.length, mayCreate(list), turn));
    fill(empty, data.length === 0 && emptyText(list, meta, isNarrowed));
    await table.show(data);
  }
  element.append(html`<header><h1>${list.label}</h1>${total}${news.button}<span class="grow"></span>
    ${extra.buttons?.(withoutPlace(asked), read)}${mayCreate(list) && createLink(list)}</header>
    ${filterBar(list, query, show)}${said}<div class="sheet">${table.element}</div>${empty}${pager}${questionOf(list, sent)}`);
  onChange(change => {
    // Some may have been missed: reads them all again.
    if (!change) read().catch(() => {});
    else if (change.resource !== list.name || table.mark(change)) return;
    // Whether a new record fits the filters is not known here.
    else if (change.action === 'create' && !isNarrowed) news.tell(news.count + 1);
  }, signal);
  const ready = Promise.withResolvers();
  // The logs are in no stream: their first page is read again and again.
  const isOnce = list.name || asked.after || asked.before;
  poll(
    () =>
      read()
        .finally(() => ready.resolve(true))
        .then(() => isOnce && 'done'),
    signal,
    said,
  );
  if (!(await isSoon(ready.promise))) table.wait();
  return keysOf(element, table, asked);
}

const mayCreate = list => list.create && !extras(list).create && isTheirs(list);
const createLink = ({ path, noun }) =>
  html`<a class="btn main short" href=${addressOf(path, 'new')}>${icon('plus')}<span>New ${noun}</span></a>`;

/** The button behind which new records wait. */
function newsOf(read) {
  const news = {
    count: 0,
    button: button('', read, 'tiny'),
    tell(number) {
      news.count = number;
      news.button.hidden = number === 0;
      fill(news.button, icon('up'), `${number} new`);
    },
  };
  news.tell(0);
  return news;
}

function keysOf(element, table, asked) {
  const press = selector => element.querySelector(selector)?.click();
  return {
    j: () => table.move(1, asked),
    k: () => table.move(-1, asked),
    Enter: () => table.open(),
    n: () => press('header a.main, header button.main'),
    f: () => press('#add-filter summary'),
    '/': () => element.querySelector('[type="search"]')?.focus(),
  };
}

/** How many records there are, and of how many these are the ones that fit. */
function totalText({ total }, known) {
  if (total === undefined) return '';
  return known >= total
    ? `${total.toLocaleString('en')} of ${known.toLocaleString('en')}`
    : total.toLocaleString('en');
}

/** The same question as a request. */
function questionOf({ path }, sent) {
  const search = String(new URLSearchParams(sent));
  const key = service.caller.kind === 'anyone' ? '' : ' -H "authorization: Bearer $KEY"';
  const question = `/api/${path}${search && `?${search}`}`;
  const curl = copyButton(`curl '${location.origin}${question}'${key}`, 'the request for curl');
  return html`<div class="asked">GET <code class="cut grow">${decodeURIComponent(question)}</code>${curl}</div>`;
}

const keys = { J: '', K: 'move', Enter: 'open', F: 'filter' };
function pagesOf({ page, total, totalPages, next, previous }, shown, isWritten, turn) {
  const isNumbered = total !== undefined;
  const from = (page - 1) * limit + 1;
  const step = (content, target) => {
    const made = button(content, () => turn(target), 'tiny');
    made.disabled = !target;
    return made;
  };
  return [
    shown > 0 &&
      isNumbered &&
      html`<span>${from.toLocaleString('en')}–${(from + shown - 1).toLocaleString('en')} of ${total.toLocaleString('en')}</span>`,
    step(
      [icon('left'), 'Previous'],
      isNumbered ? page > 1 && { page: Math.min(page - 1, totalPages) } : previous && { before: previous },
    ),
    step(
      ['Next', icon('right')],
      isNumbered ? page < totalPages && { page: page + 1 } : next && { after: next },
    ),
    totalPages > 1 && html`<span>page ${page} of ${totalPages.toLocaleString('en')}</span>`,
    html`<span class="keys only-wide">${Object.entries({ ...keys, ...(isWritten && { N: 'new' }) }).map(([key, does]) => html`<span><kbd>${key}</kbd> ${does}</span>`)}</span>`,
  ];
}

function emptyText(list, { total, totalPages }, isNarrowed) {
  const { noun, nouns, path } = list;
  if (total > 0)
    return html`<h2>This page is past the end.</h2><p>${link('The first page', path)}, of ${totalPages.toLocaleString('en')}</p>`;
  const known = service.counts[path];
  if (isNarrowed)
    return html`<h2>No ${noun} is like that.</h2><p>${known > 0 && `${count(known, 'is', 'are')} there. `}${link('Show all', path)}</p>`;
  const way = mayCreate(list) ? link(`Make the first ${noun}`, path, 'new') : 'They come by themselves.';
  return html`<h2>There are no ${nouns} yet.</h2><p>${way}</p>`;
}
