import { call } from './api.js';
import { attempt, h, table } from './dom.js';
import { poll } from './polling.js';
import { Rows } from './rows.js';

/** Records in one request. */
const limit = 50;
/** Pixels. Further down, new records would move what one reads. */
const nearTop = 200;

/**
 * A table of a log, the newest first. It follows the newest page of the log by itself: new records come in at the top,
 * changed ones are shown again, and those that no longer match go. Older ones are loaded on demand, and stay as they were.
 */
export function followLog({ path, query, columns, caption, signal }) {
  const { element, body } = table(caption, Object.keys(columns));
  const rows = new Rows(body, columns);
  const said = h('p', { role: 'status' }, 'Loading …');
  const say = text => (said.textContent = text);
  const fresh = h('button', { type: 'button', class: 'fresh', hidden: true, onclick: showLatest });
  const nothing = Object.keys(query).length > 0 ? 'Nothing matches.' : 'Nothing has happened yet.';
  const more = h('button', { type: 'button', hidden: true, onclick: attempt(loadOlder) }, 'Load older');
  const read = after => call('GET', path, { query: { ...query, limit, after }, signal });
  /** The newest page as it was read last. */
  let latest;
  /** What the table shows, and the cursor to what is older. */
  let records = [];
  let next = null;

  function show() {
    rows.show(records);
    say(records.length > 0 ? '' : nothing);
    more.hidden = next === null;
  }

  function showLatest() {
    const { data, meta } = latest;
    const older = olderThan(latest);
    // Without a record in common there may be a gap: begin again.
    const isJoined = older.length > 0 && data.some(({ id }) => records.some(record => record.id === id));
    if (!isJoined) next = meta.next;
    records = isJoined ? [...data, ...older] : data;
    fresh.hidden = true;
    show();
  }

  const olderThan = ({ data, meta }) =>
    meta.next === null ? [] : records.filter(({ id }) => id < data.at(-1).id);

  async function refresh() {
    latest = await read();
    const shown = new Set(records.map(({ id }) => id));
    const known = latest.data.filter(({ id }) => shown.has(id));
    const added = latest.data.length - known.length;
    if (records.length === 0 || added === 0 || scrollY < nearTop) return showLatest();
    records = [...known, ...olderThan(latest)];
    fresh.hidden = false;
    fresh.textContent = `Show ${added === limit ? 'the many' : added} new`;
    show();
  }

  async function loadOlder() {
    const from = next;
    const { data, meta } = await read(from);
    // The table has begun again meanwhile, and these are not what comes next.
    if (from !== next) return;
    records = [...records, ...data];
    next = meta.next;
    show();
  }

  poll(refresh, { signal, say });
  return h('div', {}, said, fresh, element, more);
}
