import { Combobox } from './combobox.js';
import { addressOf, html, icon, openDialog } from './dom.js';
import { findRecords, searchOf } from './pick.js';
import { isAdmin, service, titleIn } from './service.js';

const label = 'Go to a page or a record';

/** Opens the search over the pages and the records of all lists. */
export function jump() {
  if (document.querySelector('dialog[open]')) return;
  const take = ({ value }) => {
    dialog.close();
    location.hash = value;
  };
  const box = new Combobox({ id: 'jump-to', label, find, take, isAlwaysOpen: true });
  box.input.setAttribute('aria-label', label);
  const dialog = openDialog(
    label,
    html`<div class="pick">${icon('search')}${box.input}</div>${box.list}
      <p class="small faint"><kbd>↑</kbd> <kbd>↓</kbd> choose, <kbd>Enter</kbd> opens. An id is found as it is.</p>`,
    'high',
  );
  box.input.focus();
  box.read();
}

async function find(text, signal) {
  const pages = [isAdmin() && { label: 'Overview', path: 'overview' }, ...service.lists]
    .filter(page => page?.label.toLowerCase().includes(text.toLowerCase()))
    .map(({ label, path }) => ({ text: label, note: 'page', icon: 'table', value: addressOf(path) }));
  if (text.length < 2) return pages;
  const lists = service.lists.filter(({ group }) => group === 'Records');
  const found = lists.map(async list => {
    const some = await findRecords(list, text, 3, signal).catch(() => []);
    return some.map(record => ({
      text: titleIn(list, record),
      note: list.noun,
      icon: 'ref',
      value: addressOf(list.path, record.id),
    }));
  });
  const records = await Promise.all(found);
  const searches = lists
    .filter((list, i) => searchOf(list) && records[i]?.length === 3)
    .map(list => ({
      text: `${list.nouns} that match “${text}”`,
      note: 'list',
      icon: 'search',
      value: addressOf(list.path, undefined, { [String(searchOf(list))]: text }),
    }));
  const others = [
    { text: `Customer ${text}`, note: 'customer', icon: 'person', value: addressOf('subscriptions', text) },
    {
      text: `Event ${text}`,
      note: 'event',
      icon: 'inbox',
      value: addressOf('webhook-events', undefined, { event: text }),
    },
  ];
  return [...pages, ...records.flat(), ...searches, ...(isAdmin() ? others : [])];
}
