import { row } from './dom.js';

/** The rows of a table, by the ids of their records. `columns` has a function for each cell, by its header. */
export class Rows {
  #rows = new Map();

  constructor(body, columns) {
    this.body = body;
    this.columns = columns;
  }

  get isEmpty() {
    return this.#rows.size === 0;
  }

  has = ({ id }) => this.#rows.has(id);

  prepend(record) {
    this.body.prepend(this.#make(record));
  }

  append(record) {
    this.body.append(this.#make(record));
  }

  /** Makes the row again if its record has changed, and keeps the focus in it. */
  update(record) {
    const { element, text } = this.#rows.get(record.id);
    if (text === JSON.stringify(record)) return;
    const isFocused = element.contains(document.activeElement);
    const changed = this.#make(record);
    element.replaceWith(changed);
    if (isFocused) changed.querySelector('a')?.focus();
  }

  clear() {
    this.#rows.clear();
    this.body.replaceChildren();
  }

  #make(record) {
    const cells = Object.values(this.columns).map(cellOf => cellOf(record));
    const element = row(Object.keys(this.columns), cells);
    this.#rows.set(record.id, { element, text: JSON.stringify(record) });
    return element;
  }
}
