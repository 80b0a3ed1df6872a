import { age } from './age.js';
import { aged, badge, button, fill, html, icon, link, time, timeText } from './dom.js';
import { picker } from './pick.js';

/** What a member is, which decides its cell, its field and its filters: the name of its icon. */
export function kindOf(list, name) {
  if (list.parents.some(({ member }) => member === name)) return 'ref';
  const { type = 'object', format = '', items, maxLength, enum: words } = list.members[name];
  const [kind, another] = [type].flat().filter(each => each !== 'null');
  if (words) return 'enum';
  if (kind === 'array' && items?.enum) return 'words';
  if (another || kind === 'object' || kind === 'array') return 'json';
  if (kind !== 'string') return kind === 'boolean' ? 'bool' : 'number';
  if (format.startsWith('date')) return format === 'date' ? 'date' : 'time';
  return maxLength > 500 ? 'long' : 'text';
}
const isNullable = ({ type }) => [type].flat().includes('null');
const isState = name => name === 'status' || name === 'state';
const classes = { number: 't-num', time: 't-time', json: 't-json', ref: 't-ref' };

/** The cell of a member. `names` has the names of parents by member and id. */
export function cellOf(list, name, record, names = {}) {
  const kind = kindOf(list, name);
  return html`<td class=${isState(name) ? 't-state' : classes[kind]} data-head=${name}>${shown(list, name, record, names)}</td>`;
}
export function shown(list, name, record, names = {}) {
  const value = record[name];
  const kind = kindOf(list, name);
  if (value === null || value === undefined) return html`<i>null</i>`;
  if (kind === 'ref') return link(names[name]?.get(value) ?? '…', parentOf(list, name).path, value);
  if (name === 'updatedAt' || name === 'createdAt') return aged(value);
  if (kind === 'time') return [time(value), ' ', html`<small>${age(value)}</small>`];
  if (isState(name)) return badge(value);
  return value === false ? html`<span class="faint">false</span>` : plainText(kind, value);
}
export const parentOf = (list, name) => list.parents.find(({ member }) => member === name);

/** A value as a short text. */
export function plainText(kind, value) {
  if (value === null || value === undefined) return 'null';
  if (kind === 'number' && Number.isFinite(Number(value)))
    return Number(value).toLocaleString('en', { maximumFractionDigits: 20 });
  if (kind === 'words') return value.join(', ');
  if (kind === 'time') return timeText(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A value as one types it. */
export function typedText(kind, value) {
  if (value === null || value === undefined) return '';
  if (kind === 'json') return JSON.stringify(value, null, 2);
  return kind === 'time' ? timeText(value) : String(value);
}

/** The value of what was typed. What is no number or time stays a text, which the service refuses in its own words. */
export function readTyped(kind, typed, member) {
  const isText = kind === 'text' || kind === 'long';
  const text = isText ? typed : typed.trim();
  if (text === '') return isNullable(member) ? null : isText ? text : undefined;
  if (kind === 'json') return parseJson(text);
  if (kind === 'bool') return text === 'true';
  if (kind === 'words') return text.split(',');
  if (kind === 'time') return readTime(text);
  const isNumber = kind === 'number' && /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text);
  return isNumber && !isRounded(Number(text), text) ? Number(text) : typed;
}

/** Whether JavaScript would round a number: it is sent as the text that it is, and the service says what is wrong. */
const isRounded = (number, text) =>
  !Number.isFinite(number) || (!/[.e]/i.test(text) && !Number.isSafeInteger(number));

/** A time as it is typed, in UTC if it names no zone, with or without the time of the day. */
export function readTime(typed) {
  const pattern = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d(?:\.\d+)?)?)? ?(Z|[-+]\d\d:\d\d)?$/;
  const [, day, minute = '00:00', seconds = ':00', zone = 'Z'] = typed.match(pattern) ?? [];
  return day ? `${day}T${minute}${seconds}${zone}` : typed;
}

function parseJson(typed) {
  let rounded;
  const look = (_name, value, { source } = { source: '' }) => {
    if (typeof value === 'number' && isRounded(value, source)) rounded = source;
    return value;
  };
  try {
    const value = JSON.parse(typed, /** @type {any} */ (look));
    if (rounded === undefined) return value;
  } catch {
    throw new Error('This is not JSON: a text stands in quotation marks.');
  }
  throw new Error(`The number ${rounded} would be rounded: write it as a text.`);
}

/**
 * The control of a member: what is typed into it is a text, whatever the member is.
 * @returns {{ element: any, read: () => string, write: (typed: string) => void }}
 */
export function controlFor(list, name, id) {
  const kind = kindOf(list, name);
  const { enum: words, items } = list.members[name];
  if (kind === 'ref') return picker(parentOf(list, name).path, id);
  if (kind === 'words') return checks(name, items.enum);
  if (kind === 'bool')
    return choice(id, name, isNullable(list.members[name]) ? ['true', 'false', null] : ['true', 'false']);
  if (kind === 'enum') return choice(id, name, words);
  const isWide = kind === 'long' || kind === 'json';
  const input = isWide
    ? html`<textarea id=${id} class=${kind === 'json' ? 'mono' : ''} spellcheck=${String(kind === 'long')}></textarea>`
    : html`<input id=${id} inputmode=${kind === 'number' && 'decimal'} autocomplete="off" spellcheck="false">`;
  const element = kind === 'time' || kind === 'date' ? withCalendar(input, kind) : input;
  return { element, read: () => input.value, write: typed => write(input, typed) };
}
function write(input, typed) {
  input.value = typed;
}

/** A time or a day is typed as it is shown, a time in UTC, or chosen in the calendar of the browser. */
function withCalendar(input, kind) {
  input.placeholder = kind === 'date' ? '2026-11-21' : '2026-11-21 09:30';
  const calendar = html`<input type=${kind === 'date' ? 'date' : 'datetime-local'} class="unseen" tabindex="-1" aria-hidden="true">`;
  calendar.oninput = () => {
    write(input, calendar.value.replace('T', ' '));
    input.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const open = button(icon('date'), () => calendar.showPicker(), 'quiet', 'Choose in a calendar');
  return html`<div class="pick">${input}${calendar}${open}</div>`;
}

/** Up to four words stand side by side, more in a menu. */
function choice(id, name, words) {
  const texts = words.map(word => word ?? '');
  if (words.length > 4) {
    const options = texts.map(word => html`<option value=${word}>${word || 'null'}</option>`);
    const select = html`<select id=${id}>${options}</select>`;
    return { element: select, read: () => select.value, write: typed => write(select, typed) };
  }
  const label = word =>
    html`<label><input type="radio" class="unseen" name=${name} value=${word}>${word || 'null'}</label>`;
  const element = html`<div class="seg" role="radiogroup" id=${id} aria-labelledby="${id}-label">${texts.map(label)}</div>`;
  return withBoxes(element);
}

/** Any of these words. */
export function checks(name, words) {
  const label = word =>
    html`<label class="check"><input type="checkbox" value=${word}>${isState(name) ? badge(word) : word}</label>`;
  return withBoxes(html`<div role="group" aria-label=${name}>${words.map(label)}</div>`);
}

function withBoxes(element) {
  const boxes = [...element.querySelectorAll('input')];
  return {
    element,
    read: () =>
      boxes
        .filter(({ checked }) => checked)
        .map(({ value }) => value)
        .join(),
    write: typed => {
      for (const box of boxes) box.checked = typed.split(',').includes(box.value);
    },
  };
}

/** A field: the label, the control, what it takes, and what is wrong with it. */
export function fieldFor(list, name) {
  const member = list.members[name];
  const kind = kindOf(list, name);
  const id = `${list.prefix ?? 'f'}-${name}`;
  const { element: control, read, write: type } = controlFor(list, name, id);
  const target = control.id === id ? control : (control.querySelector(`#${id}`) ?? control);
  const optional = isNullable(member)
    ? 'may be null'
    : 'default' in member && `else ${plainText(kind, member.default)}`;
  const why = html`<p id="${id}-why" class="why" role="alert"></p>`;
  const mark = html`<span class="state"></span>`;
  const theirs = html`<div></div>`;
  const css = kind === 'long' || kind === 'json' ? 'field wide' : 'field';
  const element = html`<div class="${css}">
    <label class="label" id="${id}-label" for=${target.matches('input, select, textarea') && id}>${iconOf(kind)}${name}<span class="opt">${optional}</span>${mark}</label>
    ${control}${theirs}<small id="${id}-hint">${member.description?.replaceAll('`', '')}</small>${why}</div>`;
  target.setAttribute('aria-describedby', `${id}-hint ${id}-why`);
  const say = (...words) => {
    fill(why, words);
    target.toggleAttribute('aria-invalid', words.length > 0);
  };
  element.addEventListener('input', () => say());
  return {
    name,
    kind,
    member,
    element,
    theirs,
    mark,
    target,
    say,
    read,
    type,
    write: value => type(typedText(kind, value)),
  };
}
export const iconOf = kind => icon(kind === 'words' ? 'enum' : kind);
