import { button, fill, html, icon, timeText } from './dom.js';
import { checks, controlFor, iconOf, kindOf, parentOf, plainText, readTime } from './members.js';
import { searchOf } from './pick.js';
import { readNames } from './service.js';

/** The parameters of every list, which are no filters; `@` is the selected row. */
const others = ['page', 'limit', 'after', 'before', 'sort', 'q', '@'];
const created = { createdSince: 'createdAt[gte]', createdBefore: 'createdAt[lt]' };
const words = {
  '': 'is',
  in: 'is one of',
  gt: 'more than',
  gte: 'at least',
  lt: 'less than',
  lte: 'at most',
  startsWith: 'begins with',
  isNull: 'is null',
};
const wordsOfTime = { gt: 'after', gte: 'since', lt: 'before', lte: 'up to' };

/** What a parameter such as `amount[gte]` asks of which member; `shape` is what its control is made for. */
function readParameter(list, parameter) {
  const [, name, operator = ''] = (Object.hasOwn(created, parameter) ? created[parameter] : parameter).match(
    /^(\w+)(?:\[(\w+)\])?$/,
  );
  const member = [name, `${name}Id`].find(each => each in list.members) ?? name;
  const stored = list.members[member] ?? list.query[parameter];
  const type = operator === 'isNull' ? 'boolean' : [stored.type].flat().filter(each => each !== 'null');
  const schema = {
    ...stored,
    type,
    enum: operator === 'isNull' ? undefined : stored.enum?.filter(word => word !== null),
  };
  const shape = { members: { [member]: schema }, parents: operator === 'isNull' ? [] : list.parents };
  const kind = kindOf(shape, member);
  const word = (/^(time|date)$/.test(kind) && wordsOfTime[operator]) || words[operator];
  return { parameter, name, operator, member, shape, kind, word };
}

/** The filters of a list by their names, each with its parameters. */
function filtersOf(list) {
  const parameters = Object.keys(list.query).filter(name => !others.includes(name));
  return Map.groupBy(
    parameters.map(each => readParameter(list, each)),
    ({ name }) => name,
  );
}
export const activeFilters = (list, query) =>
  Object.keys(query).filter(name => Object.hasOwn(list.query, name) && !others.includes(name));

/** A list shows its newest records first. */
export const sortOf = ({ query: { sort } }, query) =>
  query.sort ?? (sort?.enum.includes('-createdAt') ? '-createdAt' : '');
/** The query without its place in the list. */
export function withoutPlace({ '@': _, page, after, before, ...query }) {
  return query;
}

/** The search, a chip for each filter, and what adds one. `show` shows the list with another query. */
export function filterBar(list, query, show) {
  const all = filtersOf(list);
  const kept = withoutPlace(query);
  const set = (parameter, changes) => {
    const { [parameter]: _, ...rest } = kept;
    show({ ...rest, ...changes });
  };
  const active = activeFilters(list, query).filter(name => name !== searchOf(list));
  const chips = active.map(name => chip(list, readParameter(list, name), query[name], all, set));
  const clear = () => show(kept.sort ? { sort: kept.sort } : {});
  const sorts = (list.query.sort?.enum ?? []).map(
    value =>
      html`<option value=${value} ?selected=${value === sortOf(list, query)}>${value.replace(/^-(.*)/, '$1, descending')}</option>`,
  );
  const sort = html`<select class="only-narrow" aria-label="Sort by" @change=${() => show({ ...kept, sort: sort.value })}>${sorts}</select>`;
  return html`<div class="bar" role="search">${searchField(list, kept, set)}<div class="chips">
    ${chips}${all.size > 0 && adder(all, set)}${active.length > 0 && button('Clear', clear, 'quiet')}${sorts.length > 0 && sort}</div></div>`;
}

function searchField(list, kept, set) {
  const by = searchOf(list);
  if (!by) return undefined;
  const names =
    list.query.q?.description
      .match(/`(\w+)`/g)
      ?.join(', ')
      .replaceAll('`', '') ?? list.title;
  let typing;
  const find = event => {
    event?.preventDefault();
    const text = input.value.trim();
    if (text !== (kept[by] ?? '')) set(by, text && { [by]: text });
  };
  const input = html`<input type="search" name=${list.path} value=${kept[by] ?? ''} placeholder="${by === 'q' ? 'Search ' : ''}${names}${by === 'q' ? '' : by === list.title ? ' is' : ' begins with, exactly'}" aria-label="Search ${names}">`;
  input.oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(find, 300);
  };
  return html`<form class="pick search" @submit=${find}>${icon('search')}${input}<kbd class="only-wide">/</kbd></form>`;
}

function chip(list, asked, value, all, set) {
  const { parameter, name, operator, kind, member, word } = asked;
  const shown = html`<b class="cut">${shownValue(asked, value)}</b>`;
  if (kind === 'ref') {
    const ids = value.split(',');
    const show = names => fill(shown, ids.map(id => names.get(id)).join(', '));
    readNames(parentOf(list, member).path, ids).then(show, () => {});
  }
  const summary = [`${name} ${operator === 'isNull' ? '' : word} `, shown];
  const remove = button(icon('x'), () => set(parameter, {}), 'quiet', `Remove the filter ${name}`);
  return html`<div class="chip">${menu(summary, pop => editor(pop, all.get(name), asked, value, set))}${remove}</div>`;
}

function shownValue({ kind, operator }, value) {
  if (operator === 'isNull') return value === 'true' ? 'is null' : 'is not null';
  if (kind === 'ref') return '…';
  return operator === 'in' ? value.replaceAll(',', ', ') : plainText(kind, value);
}

/** A menu that is filled when it opens. */
function menu(summary, fillIn, id = undefined) {
  const pop = html`<div class="pop"></div>`;
  const details = html`<details class="menu" name="filter" id=${id}><summary>${summary}</summary>${pop}</details>`;
  details.ontoggle = () => details.open && fillIn(pop);
  return details;
}

/** Offers the filters of the list; the one that is chosen is filled in at once. */
function adder(all, set) {
  const offer = pop => {
    const entries = [...all].map(([name, parameters]) => {
      const usual =
        parameters.find(({ operator }) => operator === 'in' || operator === 'gte') ?? parameters[0];
      const text = html`<span class="grow">${name}</span><span class="faint">${parameters.map(({ word }) => word).join(', ')}</span>`;
      return button(
        [iconOf(parameters[0].kind), ...text.childNodes],
        () => editor(pop, parameters, usual, '', (_, changes) => set('', changes)),
        'quiet',
      );
    });
    fill(pop, entries);
    entries[0].focus();
  };
  return html`<div class="chip add">${menu([icon('plus'), 'Filter'], offer, 'add-filter')}</div>`;
}

/** The form of one filter: its operator and its value. */
function editor(pop, parameters, asked, value, set) {
  let current = asked;
  let control = controlOf(current);
  control.write(current.kind === 'time' ? timeText(value) : value);
  const options = parameters.map(
    ({ parameter, word }) =>
      html`<option value=${parameter} ?selected=${parameter === asked.parameter}>${word}</option>`,
  );
  const operator = html`<select aria-label="Operator" ?hidden=${parameters.length < 2}>${options}</select>`;
  operator.onchange = () => {
    current = parameters.find(({ parameter }) => parameter === operator.value);
    const next = controlOf(current);
    next.write(current.operator === 'isNull' ? 'true' : control.read());
    control.element.replaceWith(next.element);
    control = next;
  };
  const submit = event => {
    event.preventDefault();
    const typed = current.kind === 'time' ? readTime(control.read().trim()) : control.read().trim();
    set(asked.parameter, typed && { [current.parameter]: typed });
  };
  fill(
    pop,
    html`<form @submit=${submit}><span class="label" id="filter-value-label">${current.name}</span>${operator}${control.element}<button class="main">Show</button></form>`,
  );
  const first = control.element.matches('input, select')
    ? control.element
    : control.element.querySelector('input');
  first.focus();
}

function controlOf({ shape, member, operator, kind }) {
  if (kind === 'enum' && operator === 'in') return checks(member, shape.members[member].enum);
  const control = controlFor(shape, member, 'filter-value');
  control.element.setAttribute('aria-labelledby', 'filter-value-label');
  return control;
}
