import { call, poll } from './api.js';
import { attempt, fields, filledIn, h, row, table, viewAddress } from './dom.js';

/** Records in one request. */
const limit = 50;
/** Pixels from the top of the page. Further down, new records would move what is being read. */
const nearTop = 200;

/**
 * Shows a list with its filters. At the top of the page, new records appear by themselves. Readers further down, or
 * with older records loaded, are not disturbed: the records they see are updated, and a button offers the latest.
 */
export function showList(element, { path, order, title, filters, columns, extra, idOf }, query, signal) {
  const name = title.toLowerCase();
  const said = h('p', { role: 'status' }, 'Loading …');
  const fresh = h('button', { type: 'button', class: 'fresh', hidden: true }, `Show the latest ${name}`);
  const list = table(`${title}, the newest first`, columns);
  const more = h('button', { type: 'button', hidden: true, onclick: attempt(loadOlder) }, 'Load older');
  const read = after => call('GET', path, { query: { ...order, ...query, limit, after }, signal });
  /** The first page as it was read last. */
  let latest;
  /** What the table shows, and the cursor to what is older. */
  let records = [];
  let next = null;

  function show() {
    showRows(list.tBodies[0], columns, records, idOf);
    const nothing = Object.keys(query).length > 0 ? 'Nothing matches.' : `There are no ${name} yet.`;
    said.textContent = records.length > 0 ? '' : nothing;
    more.hidden = next === null;
  }

  function showLatest() {
    records = latest.data;
    next = latest.meta.next;
    fresh.hidden = true;
    show();
  }

  async function refresh() {
    latest = await read('');
    if (records.length <= limit && scrollY < nearTop) return showLatest();
    const known = new Map(latest.data.map(record => [idOf(record), record]));
    const isFirst = (record, i) => records[i] && idOf(record) === idOf(records[i]);
    fresh.hidden = latest.data.length > 0 && latest.data.every(isFirst);
    records = records.map(record => known.get(idOf(record)) ?? record);
    show();
  }

  async function loadOlder() {
    const after = next;
    const { data, meta } = await read(after);
    // The list has restarted meanwhile: these records are not the next ones.
    if (after !== next) return;
    records = [...records, ...data];
    next = meta.next;
    show();
  }

  fresh.onclick = () => {
    scrollTo(0, 0);
    showLatest();
  };
  const form = filters ? [filterForm(title, filters, query)] : [];
  const others = extra ? [extra(query, refresh)].flat() : [];
  element.append(h('h2', {}, title), ...form, ...others, said, fresh, list, more);
  poll(refresh, signal, said);
}

/** The form with the filters. It is folded on a phone, so that the list begins on the first screen. */
function filterForm(title, filters, query) {
  const onsubmit = event => {
    event.preventDefault();
    location.hash = viewAddress(title.toLowerCase(), filledIn(event.target));
  };
  const active = Object.entries(query).map(entry => entry.join(' '));
  const show = h('button', { class: 'primary' }, 'Show');
  return h(
    'details',
    { open: matchMedia('(min-width: 701px)').matches },
    h('summary', {}, active.length > 0 ? `Filters: ${active.join(', ')}` : 'Filters'),
    h('form', { class: 'filters', onsubmit }, fields(filters, query), show),
  );
}

/** Shows these records only. Cells that have not changed stay, and with them the focus and a selection. */
function showRows(body, columns, records, idOf) {
  const before = new Map([...body.rows].map(row => [row.dataset.id, row]));
  const ids = new Set(records.map(idOf));
  for (const [id, row] of before) if (!ids.has(id)) row.remove();
  for (const [i, record] of records.entries()) {
    const made = row(columns, record);
    made.dataset.id = idOf(record);
    const old = before.get(made.dataset.id);
    if (!old) body.insertBefore(made, body.rows[i] ?? null);
    else
      for (const [j, cell] of [...made.cells].entries())
        if (!cell.isEqualNode(old.cells[j])) old.cells[j].replaceWith(cell);
  }
}
