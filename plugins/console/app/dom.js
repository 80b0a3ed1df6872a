/**
 * Makes an element. Members that are properties are set as such, others as attributes. Children that are strings stay
 * text: what strangers wrote is never markup.
 */
export function h(name, members = {}, ...children) {
  const element = document.createElement(name);
  for (const [member, value] of Object.entries(members))
    if (member in element) element[member] = value;
    else if (value !== undefined) element.setAttribute(member, value);
  const shown = children.flat(2).filter(child => child !== undefined && child !== null && child !== false);
  element.append(...shown);
  return element;
}

/**
 * Where the reader is: a view, and what it shows. It is in the fragment of the URL, which can be sent to a colleague.
 */
export function addressNow() {
  const [view, search] = location.hash.slice(1).split('?');
  return { view: view || 'events', query: Object.fromEntries(new URLSearchParams(search)) };
}
export const viewAddress = (view, query = {}) => `#${view}?${new URLSearchParams(query)}`;

export const link = (view, query, text) => h('a', { href: viewAddress(view, query) }, text);

/** A link that opens a record over its list, with the filters of the list if that is shown now. */
export function linkTo(view, open, text = open) {
  const now = addressNow();
  return link(view, { ...(now.view === view && now.query), open }, text);
}

/** A time as the log and the API have it, so that it can be searched for there; its title has the reader's own time. */
export function time(instant) {
  if (!instant) return '–';
  const members = { dateTime: instant, title: new Date(instant).toLocaleString() };
  return h('time', members, `${instant.slice(0, 19).replace('T', ' ')} UTC`);
}

/** The state of an event or a subscription: in words, and in a colour. */
export const badge = status => h('span', { class: `badge ${status}` }, status.replaceAll('_', ' '));

/** A button that copies a text. A page without TLS has no clipboard, unless it comes from this machine. */
export function copyButton(text, what) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    notify(`The ${what} is copied.`);
  };
  const members = { type: 'button', class: 'copy', 'aria-label': `Copy the ${what}`, onclick: attempt(copy) };
  return navigator.clipboard && h('button', members, 'Copy');
}
export const copyable = (text, what) => text && [h('span', {}, text), ' ', copyButton(text, what)];

/**
 * A table. `columns` has a function for each cell, by its header. On a phone a row is a card with the header before
 * each cell; the roles are named because `display` takes them away.
 */
export function table(caption, columns, records = []) {
  const heads = Object.keys(columns).map(text => h('th', { scope: 'col', role: 'columnheader' }, text));
  const rows = records.map(record => row(columns, record));
  return h(
    'table',
    { role: 'table' },
    h('caption', {}, caption),
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads)),
    h('tbody', { role: 'rowgroup' }, rows),
  );
}
export function row(columns, record) {
  const cell = ([head, content]) => h('td', { role: 'cell', 'data-head': head }, content(record));
  return h('tr', { role: 'row' }, Object.entries(columns).map(cell));
}

/** Names and values; values that are absent are left out. */
export function facts(entries) {
  const known = Object.entries(entries).filter(([, value]) => value);
  const shown = known.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)));
  return h('dl', { class: 'facts' }, shown);
}

/** Fields by their names: each has a label, and its options, an example, or `Date` for a time. */
export const fields = (entries, values = {}) =>
  Object.entries(entries).map(([name, [label, kind = '']]) => {
    const value = values[name] ?? '';
    return h('label', { class: 'field' }, h('span', {}, label), inputFor(name, kind, value));
  });

function inputFor(name, kind, value) {
  if (kind === Date) return h('input', { name, type: 'datetime-local', value: value.slice(0, 16) });
  if (!Array.isArray(kind))
    return h('input', { name, value, placeholder: kind, autocomplete: 'off', spellcheck: false });
  const option = word => h('option', { value: word, selected: word === value }, word || 'any');
  return h('select', { name }, kind.map(option));
}

/** The values of a form that are not empty; times are UTC. */
export const filledIn = form =>
  Object.fromEntries(
    [...form.elements]
      .filter(({ name, value }) => name && value !== '')
      .map(({ name, type, value }) => [name, type === 'datetime-local' ? `${value}:00Z` : value]),
  );

const notice = h('p', { id: 'notice', role: 'status' });
/**
 * Says what happened, to the eye and to a screen reader. The notice is in the dialog that is open, because nothing
 * outside of it can be read then.
 */
export function notify(text) {
  ([...document.querySelectorAll('dialog')].at(-1) ?? document.body).append(notice);
  notice.textContent = text;
}

/**
 * Makes a handler of events from work that takes a while. Until the work ends, further events do nothing: a double
 * click is one click. A failure is shown, unless the reader has left the view.
 */
export function attempt(work) {
  let isRunning = false;
  return async event => {
    event.preventDefault();
    if (isRunning) return;
    isRunning = true;
    try {
      await work(event);
    } catch (error) {
      if (error.name !== 'AbortError') notify(error.message);
    } finally {
      isRunning = false;
    }
  };
}
