import { button, fill, html, link } from './dom.js';
import { fieldFor, plainText, readTyped, typedText } from './members.js';

const sentence = new Intl.ListFormat('en', { type: 'conjunction' });
export const boldList = names =>
  sentence
    .formatToParts(names)
    .map(({ type, value }) => (type === 'element' ? html`<b>${value}</b>` : value));

/**
 * The fields of a record, or of a new one. It knows what was typed, what the service refused, and what somebody else
 * has changed meanwhile.
 */
export class MemberForm {
  /** The fields that both sides have changed, until one is chosen. */
  open = new Set();

  constructor(list, base, onSettle = () => {}) {
    this.list = list;
    this.base = base;
    this.onSettle = onSettle;
    this.fields = Object.keys(list.members)
      .filter(name => !list.members[name].readOnly)
      .map(name => fieldFor(list, name));
    this.element = html`<div class="form">${this.fields.map(({ element }) => element)}</div>`;
    for (const field of this.fields) {
      field.write(base[field.name]);
      for (const event of ['input', 'change'])
        field.element.addEventListener(event, () => this.settle(field));
    }
  }

  textBefore = ({ name, kind }) => typedText(kind, this.base[name]);
  isChanged = field => field.read() !== this.textBefore(field);
  changed = () => this.fields.filter(this.isChanged);

  settle(field) {
    // The two sides may have become the same.
    if (!this.isChanged(field) && this.open.delete(field)) fill(field.theirs);
    fill(field.mark, this.base.version && this.isChanged(field) && 'changed');
    this.onSettle();
  }

  /** Chooses one side for a field that both have changed. */
  choose(field, isTheirs) {
    if (isTheirs) field.write(this.base[field.name]);
    fill(field.theirs);
    field.say();
    this.open.delete(field);
    this.settle(field);
  }

  offer(field) {
    this.open.add(field);
    const theirs = plainText(field.kind, this.base[field.name]);
    const take = button('Take it', () => this.choose(field, true), 'tiny');
    const keep = button('Keep mine', () => this.choose(field, false), 'tiny');
    fill(
      field.theirs,
      html`<p class="theirs"><span class="grow">Theirs: <b>${theirs}</b></span>${take}${keep}</p>`,
    );
  }

  /** Takes over what somebody else has changed; what both have changed is offered. Returns the fields of theirs. */
  merge(record) {
    const theirs = this.fields.filter(
      field => typedText(field.kind, record[field.name]) !== this.textBefore(field),
    );
    const mine = new Set(this.changed());
    this.base = record;
    for (const field of theirs) {
      if (!mine.has(field)) field.write(record[field.name]);
      if (this.isChanged(field)) this.offer(field);
      this.settle(field);
      if (!mine.has(field)) fill(field.mark, html`<span class="badge info">theirs, just now</span>`);
    }
    return theirs;
  }

  /** What was sent is saved, as the service writes it; what was typed since then is still to be saved. */
  saved(record, sent) {
    const sameAsSent = this.fields.filter(
      field => field.read() === (sent.get(field) ?? this.textBefore(field)),
    );
    this.base = record;
    for (const field of sameAsSent.filter(this.isChanged)) field.write(record[field.name]);
    for (const field of this.fields) this.settle(field);
  }

  /** The members that these fields make; undefined if one of them is no JSON. */
  body(fields) {
    const body = {};
    for (const field of fields) {
      try {
        const value = readTyped(field.kind, field.read(), field.member);
        if (value === undefined && this.base.version) throw new Error('A value is required.');
        if (value !== undefined) body[field.name] = value;
      } catch (error) {
        field.say(error.message);
        field.target.focus();
        return undefined;
      }
    }
    return body;
  }

  /** Puts the words of a refusal beside the members that they are about; returns those about none. */
  refuse({ message, details }) {
    const wrong = Array.isArray(details) ? details : [{ ...details, message }];
    const others = wrong.filter(({ path = '', message: words, code = '' }) => {
      const field = this.fields.find(({ name }) => path.split('/')[1] === name);
      const canShow = field && code.endsWith('_taken') && Object.hasOwn(this.list.query, field.name);
      field?.say(
        `${words} `,
        canShow && link('Show it', this.list.path, undefined, { [field.name]: field.read() }),
      );
      return !field;
    });
    const first = this.fields.find(({ target }) => target.hasAttribute('aria-invalid'));
    (first?.target.querySelector('input') ?? first?.target)?.focus();
    return others
      .map(({ path, message: words }) => (Array.isArray(details) ? `${path} ${words}.` : words))
      .join(' ');
  }
}
