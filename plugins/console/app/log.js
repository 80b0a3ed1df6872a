import { call } from './api.js';
import { attempt, h, table } from './dom.js';
import { poll } from './polling.js';
import { Rows } from './rows.js';

/** Records in one request. */
const limit = 50;
/** Pixels. Further down, new records would move what one reads. */
const nearTop = 200;

/**
 * A table of a log, the newest first. It follows the log by itself: new records come in at the top and changed ones are
 * shown again. Older ones are loaded on demand.
 */
export function followLog({ path, query, columns, caption, signal }) {
  const { element, body } = table(caption, Object.keys(columns));
  const rows = new Rows(body, columns);
  const said = h('p', { role: 'status' }, 'Loading …');
  const say = text => (said.textContent = text);
  const fresh = h('button', { type: 'button', class: 'fresh', hidden: true, onclick: () => show(latest) });
  const nothing = Object.keys(query).length > 0 ? 'Nothing matches.' : 'Nothing has happened yet.';
  const more = h('button', { type: 'button', hidden: true, onclick: attempt(loadOlder) }, 'Load older');
  const read = after => call('GET', path, { query: { ...query, limit, after }, signal });
  let latest;
  let next = null;

  function show({ data, meta }) {
    // So many are new that there is a gap: begin again.
    if (!data.some(rows.has)) {
      rows.clear();
      next = meta.next;
    }
    for (const record of data.toReversed()) if (!rows.has(record)) rows.prepend(record);
    say(rows.isEmpty ? nothing : '');
    fresh.hidden = true;
    more.hidden = next === null;
  }

  async function refresh() {
    latest = await read();
    for (const record of latest.data) if (rows.has(record)) rows.update(record);
    const added = latest.data.filter(record => !rows.has(record)).length;
    if (rows.isEmpty || (added > 0 && scrollY < nearTop)) return show(latest);
    fresh.hidden = added === 0;
    fresh.textContent = `Show ${added === limit ? 'the many' : added} new`;
  }

  async function loadOlder() {
    const { data, meta } = await read(next);
    for (const record of data) if (!rows.has(record)) rows.append(record);
    next = meta.next;
    more.hidden = next === null;
  }

  poll(refresh, { signal, say });
  return h('div', {}, said, fresh, element, more);
}
