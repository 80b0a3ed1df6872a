import { addressOf, button, fill, go, html, icon, link } from './dom.js';
import { extras } from './extras.js';
import { cellOf, iconOf, kindOf } from './members.js';
import { readNames, titleIn } from './service.js';

/** The list that was shown last, so that a record leads to the one after it, and back. */
export const lastShown = { path: '', ids: /** @type {string[]} */ ([]), address: '' };

/** The columns of a list: what stands for a record, then its members, at last when it changed. */
function columnsOf(list) {
  const { columns } = extras(list);
  const own = (name, show) => record =>
    html`<td class=${name === 'Status' && 't-state'} data-head=${name}>${show(record)}</td>`;
  if (columns) return Object.entries(columns).map(([name, show]) => ({ name, cell: own(name, show) }));
  const isPlain = name =>
    !['id', 'version', 'createdAt', 'updatedAt', list.title].includes(name) && kindOf(list, name) !== 'long';
  // The state and the parents stand beside the name; the others as the API has them.
  const rank = name => (name === 'status' ? 0 : kindOf(list, name) === 'ref' ? 1 : 2);
  const byRank = (a, b) => rank(a) - rank(b);
  const cell = record => html`<td class="t-name">${link(titleIn(list, record), list.path, record.id)}</td>`;
  return [
    { name: list.title ?? 'id', kind: 'text', cell },
    ...[...Object.keys(list.members).filter(isPlain).sort(byRank), 'updatedAt'].map(name => ({
      name,
      kind: kindOf(list, name),
      cell: (record, names) => cellOf(list, name, record, names),
    })),
  ];
}

/** The table of a list. A row keeps its place while others change: nothing moves under the pointer. */
export class Table {
  records = [];
  /** The names of parents, by member and id. */
  names = {};

  constructor(list, sort, selected, order) {
    this.list = list;
    this.selected = selected;
    this.columns = columnsOf(list);
    this.idOf = extras(list).idOf ?? (({ id }) => id);
    this.body = html`<tbody></tbody>`;
    this.element = html`<table><caption class="unseen">${list.nouns}, sorted by ${sort || 'time, the newest first'}</caption>
      <thead><tr>${this.columns.map(column => headOf(list, column, sort, order))}</tr></thead>${this.body}</table>`;
  }

  /** Shows the records of a page, with the names of their parents. */
  async show(records) {
    this.records = records;
    Object.assign(lastShown, { path: this.list.path, ids: records.map(this.idOf) });
    for (const row of this.body.rows) row.classList.remove('fresh', 'gone');
    this.draw();
    const parents = this.list.parents.filter(({ member }) =>
      this.columns.some(({ name }) => name === member),
    );
    const reads = parents.map(async ({ member, path }) => {
      this.names[member] = await readNames(
        path,
        records.map(record => record[member]),
      );
    });
    await Promise.all(reads);
    if (parents.length > 0) this.draw();
  }

  draw() {
    const ids = this.records.map(this.idOf);
    for (const row of [...this.body.rows]) if (!ids.includes(row.dataset.id)) row.remove();
    const rows = new Map([...this.body.rows].map(row => [row.dataset.id, row]));
    for (const [i, record] of this.records.entries()) {
      const row = rows.get(ids[i]) ?? this.makeRow(ids[i]);
      // Keeps the cells that have not changed, and with them the focus and a selection.
      const cells = this.columns.map(({ cell }) => cell(record, this.names));
      if (row.cells.length === 0) row.append(...cells);
      for (const [j, cell] of cells.entries())
        if (!cell.isEqualNode(row.cells[j])) row.cells[j].replaceWith(cell);
      row.setAttribute('aria-selected', String(ids[i] === this.selected));
      if (this.body.rows[i] !== row) this.body.insertBefore(row, this.body.rows[i] ?? null);
    }
  }

  makeRow(id) {
    return html`<tr data-id=${id} @click=${event => event.target.closest('a, button') || this.open(id)}></tr>`;
  }
  open(id = this.selected) {
    if (this.list.isOpened && id) go(this.list.path, id);
  }

  /** Shows what has changed elsewhere, in its row. Returns whether there is one. */
  mark({ id, record }) {
    const row = [...this.body.rows].find(({ dataset }) => dataset.id === id);
    row?.classList.remove('fresh');
    row?.classList.toggle('gone', record === null);
    if (!row || !record) return Boolean(row);
    requestAnimationFrame(() => row.classList.add('fresh'));
    this.records = this.records.map(each => (this.idOf(each) === id ? { ...each, ...record } : each));
    this.draw();
    return true;
  }

  /** Moves the selection, which the address keeps without a new entry in the history. */
  move(by, query) {
    const ids = this.records.map(this.idOf);
    this.selected = ids[Math.min(Math.max(ids.indexOf(this.selected) + by, 0), ids.length - 1)];
    this.draw();
    this.body.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
    if (!this.selected) return;
    history.replaceState(null, '', addressOf(this.list.path, undefined, { ...query, '@': this.selected }));
    lastShown.address = location.hash;
  }

  /** Shows where the rows will be, when they are late. */
  wait() {
    const row = () => html`<tr>${this.columns.map(() => html`<td><span class="bone"></span></td>`)}</tr>`;
    if (this.records.length === 0) fill(this.body, Array.from({ length: 8 }, row));
  }
}

function headOf(list, { name, kind }, sort, order) {
  const label = [kind && iconOf(kind), name];
  const css = kind === 'number' && 't-num';
  if (!list.query.sort?.enum.includes(name))
    return html`<th scope="col" class=${css}><span>${label}</span></th>`;
  const [isUp, isDown] = [sort === name, sort === `-${name}`];
  const press = button([...label, isUp ? icon('up') : isDown && icon('down')], () =>
    order(isUp ? `-${name}` : name),
  );
  return html`<th scope="col" class=${css} aria-sort=${isUp ? 'ascending' : isDown && 'descending'}>${press}</th>`;
}
