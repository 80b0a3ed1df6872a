import { call } from './api.js';
import { Combobox } from './combobox.js';
import { fill, html, icon } from './dom.js';
import { listAt, readNames, titleIn } from './service.js';

const isId = text => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** The parameter that finds records by a text: by words where the list has a search, else by its beginning or all of it. */
export const searchOf = ({ query, title }) =>
  ['q', `${title}[startsWith]`, title].find(name => Object.hasOwn(query, name));

/** Some records of a list that fit a text, or the one with this id. */
export async function findRecords(list, text, limit, signal) {
  if (isId(text)) {
    // Says without a 404 that there is none.
    const names = await call('GET', `/console/names/${list.path}`, { query: { ids: text }, signal });
    return Object.entries(names).map(([id, name]) => ({ id, [list.title]: name }));
  }
  const by = searchOf(list);
  if (text !== '' && !by) return [];
  const query = { ...(text !== '' && { [by]: text }), limit };
  return (await call('GET', `/api/${list.path}`, { query, signal })).data;
}

/** Chooses a record of another list by its name; what is read and written is its id. */
export function picker(path, id) {
  const list = listAt(path);
  const shown = html`<small class="mono cut"></small>`;
  let chosen = '';
  const optionOf = record => ({ text: titleIn(list, record), note: record.id.slice(-8), value: record.id });
  const box = new Combobox({
    id,
    label: list ? `Search ${list.nouns}, or an id` : 'An id',
    find: async (text, signal) => (list ? (await findRecords(list, text, 8, signal)).map(optionOf) : []),
    take: ({ text, value }) => {
      show(value, text);
      box.input.dispatchEvent(new Event('change', { bubbles: true }));
    },
  });
  function show(value, name) {
    chosen = value;
    box.input.value = name;
    fill(shown, value);
  }
  // What is typed counts as it is, such as an id.
  box.input.addEventListener('input', () => {
    chosen = box.input.value.trim();
    fill(shown);
  });
  async function write(value) {
    show(value, value);
    const names = value && (await readNames(path, [value]));
    if (names && chosen === value) show(value, names.get(value));
  }
  const element = html`<div class="pick">${icon('search')}${box.input}${box.list}${shown}</div>`;
  return { element, read: () => chosen, write };
}
