import { call } from './api.js';
import { fill, html, icon } from './dom.js';
import { listAt, readNames, titleIn } from './service.js';

const isId = text => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** The parameter that finds records by a text: by words where the list has a search, else by its beginning or all of it. */
export function searchOf({ query, title }) {
  return ['q', `${title}[startsWith]`, title].find(name => name in query);
}

/** Some records of a list that fit a text, or the one with this id. */
export async function findRecords(list, text, limit, signal) {
  if (isId(text))
    return call('GET', `/api/${list.path}/${text}`, { signal }).then(
      record => [record],
      () => [],
    );
  const by = searchOf(list);
  if (text !== '' && !by) return [];
  const query = text === '' ? {} : { [by]: text };
  return (await call('GET', `/api/${list.path}`, { query: { ...query, limit }, signal })).data;
}

/**
 * A text field with options that are read while one types; arrows choose, Enter takes, Escape closes the options.
 * `find` gets the text, and returns options of `{ text, note, icon, value }`.
 */
export function combobox({ id, label, find, take, isAlwaysOpen = false }) {
  let [options, at, reading] = [[], 0, new AbortController()];
  /** The read of the options of what was typed last, while it is under way. */
  let pending;
  const list = html`<ul role="listbox" class="options" id="${id}-options" aria-label=${label} hidden></ul>`;
  const input = html`<input id=${id} type="text" role="combobox" autocomplete="off" spellcheck="false" placeholder=${label}
    aria-controls=${list.id} aria-expanded="false" aria-autocomplete="list">`;
  const item = ({ text, note, icon: name }, i) => html`<li role="option" id="${id}-${String(i)}"
    @mousedown=${event => event.preventDefault()} @click=${() => choose(i)}>${name && icon(name)}<span class="grow cut">${text}</span><span class="faint">${note}</span></li>`;
  function show(found) {
    [options, at] = [found, 0];
    fill(list, options.map(item));
    list.hidden = options.length === 0;
    input.setAttribute('aria-expanded', String(options.length > 0));
    move(0);
  }
  function move(by) {
    at = options.length && (at + by + options.length) % options.length;
    for (const [i, each] of [...list.children].entries())
      each.setAttribute('aria-selected', String(i === at));
    input.setAttribute('aria-activedescendant', options.length ? `${id}-${at}` : '');
    list.children[at]?.scrollIntoView({ block: 'nearest' });
  }
  function choose(i) {
    const option = options[i];
    if (!isAlwaysOpen) show([]);
    take(option);
  }
  async function read() {
    reading.abort();
    reading = new AbortController();
    const { signal } = reading;
    await new Promise(resolve => setTimeout(resolve, 120));
    const found = signal.aborted ? [] : await find(input.value.trim(), signal).catch(() => []);
    if (!signal.aborted) show(found);
  }
  input.oninput = () => {
    const own = read().finally(() => {
      if (pending === own) pending = undefined;
    });
    pending = own;
  };
  input.onkeydown = event => {
    if (event.ctrlKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.length === 0) read();
    else if (step) move(step);
    // Takes no option of an earlier text.
    else if (event.key === 'Enter' && pending) pending.then(() => options.length > 0 && choose(at));
    else if (event.key === 'Enter' && options.length > 0) choose(at);
    else if (event.key === 'Escape' && options.length > 0 && !isAlwaysOpen) show([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  input.onblur = () => {
    reading.abort();
    if (!isAlwaysOpen) show([]);
  };
  return { input, list, read };
}

/** Chooses a record of another list by its name; what is read and written is its id. */
export function picker(path, id) {
  const list = listAt(path);
  const shown = html`<small class="mono cut"></small>`;
  let chosen = '';
  const find = async (text, signal) => {
    const records = list ? await findRecords(list, text, 8, signal) : [];
    return records.map(record => ({
      text: titleIn(list, record),
      note: record.id.slice(-8),
      value: record.id,
    }));
  };
  const take = ({ text, value }) => {
    show(value, text);
    input.dispatchEvent(new Event('change', { bubbles: true }));
  };
  const { input, list: options } = combobox({
    id,
    label: list ? `Search ${list.nouns}, or an id` : 'An id',
    find,
    take,
  });
  function show(value, name) {
    chosen = value;
    input.value = name;
    fill(shown, value);
  }
  // What is typed counts as it is, such as an id.
  input.addEventListener('input', () => {
    chosen = input.value.trim();
    fill(shown);
  });
  async function write(value) {
    show(value, value);
    const names = value ? await readNames(path, [value]).catch(() => undefined) : undefined;
    if (chosen === value) show(value, names?.get(value) ?? value);
  }
  return {
    element: html`<div class="pick">${icon('search')}${input}${options}${shown}</div>`,
    read: () => chosen,
    write,
  };
}
