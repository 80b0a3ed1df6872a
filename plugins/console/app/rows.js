import { row } from './dom.js';

/** The rows of a table, by the ids of their records. `columns` has a function for each cell, by its header. */
export class Rows {
  #rows = new Map();

  constructor(body, columns) {
    this.body = body;
    this.columns = columns;
  }

  /** Shows these records alone. The rows of those that have not changed stay, and with them the focus. */
  show(records) {
    const ids = new Set(records.map(({ id }) => id));
    for (const [id, { element }] of this.#rows)
      if (!ids.has(id)) {
        element.remove();
        this.#rows.delete(id);
      }
    for (const [i, record] of records.entries()) {
      const element = this.#rowOf(record);
      const there = this.body.children[i];
      if (there !== element) this.body.insertBefore(element, there ?? null);
    }
  }

  /** Made again if the record has changed; the focus in it is kept. */
  #rowOf(record) {
    const text = JSON.stringify(record);
    const before = this.#rows.get(record.id);
    if (before?.text === text) return before.element;
    const cells = Object.values(this.columns).map(cellOf => cellOf(record));
    const element = row(Object.keys(this.columns), cells);
    this.#rows.set(record.id, { element, text });
    const isFocused = before?.element.contains(document.activeElement);
    before?.element.replaceWith(element);
    if (isFocused) element.querySelector('a')?.focus();
    return element;
  }
}
