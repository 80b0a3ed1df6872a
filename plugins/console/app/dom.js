/**
 * Makes an element. Members that are properties are set as such, others as attributes. Children that are strings stay text:
 * what strangers wrote is never markup.
 */
export function h(name, members = {}, ...children) {
  const element = document.createElement(name);
  for (const [member, value] of Object.entries(members))
    if (member in element) element[member] = value;
    else if (value !== undefined) element.setAttribute(member, value);
  element.append(
    ...children.flat().filter(child => child !== undefined && child !== null && child !== false),
  );
  return element;
}

/** In the reader's own time; the exact one is in the title. */
export function time(instant) {
  if (!instant) return '–';
  const text = new Date(instant).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'medium' });
  return h('time', { dateTime: instant, title: instant }, text);
}

/** The state of an event or a subscription: in words, and in a colour. */
export const badge = status => h('span', { class: `badge ${status}` }, status.replaceAll('_', ' '));

/** On a phone a row is a card, with the header before each cell: `display` takes the roles away. */
export function table(caption, headers) {
  const heads = headers.map(text => h('th', { scope: 'col', role: 'columnheader' }, text));
  const body = h('tbody', { role: 'rowgroup' });
  const element = h(
    'table',
    { role: 'table' },
    h('caption', {}, caption),
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads)),
    body,
  );
  return { element, body };
}
export const row = (headers, cells) =>
  h(
    'tr',
    { role: 'row' },
    cells.map((cell, i) => h('td', { role: 'cell', 'data-head': headers[i] }, cell)),
  );

/** Names and values; values that are absent are left out. */
export const facts = entries =>
  h(
    'dl',
    { class: 'facts' },
    Object.entries(entries)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );

export const field = (label, input) => h('label', { class: 'field' }, h('span', {}, label), input);
export const select = (name, options, value = '') =>
  h(
    'select',
    { name },
    Object.entries(options).map(([option, text]) =>
      h('option', { value: option, selected: option === value }, text),
    ),
  );
export const input = (name, value = '', members = {}) =>
  h('input', { name, value, autocomplete: 'off', spellcheck: false, ...members });

/** The values of a form that are not empty. */
export const valuesOf = form =>
  Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ''));

/** Says what happened, to the eye and to a screen reader. */
export function notify(text) {
  document.getElementById('notice').textContent = text;
}

/**
 * Handles an event by work that takes a while. Until it ends, further events do nothing: a double click is one click. A
 * failure is said, unless the reader has left the view.
 */
export function attempt(work, say = notify) {
  let isRunning = false;
  return async event => {
    event.preventDefault();
    if (isRunning) return;
    isRunning = true;
    try {
      await work(event);
    } catch (error) {
      if (error.name !== 'AbortError') say(error.message);
    } finally {
      isRunning = false;
    }
  };
}
