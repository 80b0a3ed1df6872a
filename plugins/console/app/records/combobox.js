import { fill, html, icon } from './dom.js';

/**
 * A text field with options that are read while one types; arrows choose, Enter takes, Escape closes the options.
 * `find` gets the text, and returns options of `{ text, note, icon, value }`.
 */
export class Combobox {
  options = [];
  at = 0;
  reading = new AbortController();
  /** The read of the options of what was typed last, while it is under way. */
  pending;

  constructor({ id, label, find, take, isAlwaysOpen = false }) {
    this.id = id;
    this.find = find;
    this.take = take;
    this.isAlwaysOpen = isAlwaysOpen;
    this.list = html`<ul role="listbox" class="options" id="${id}-options" aria-label=${label} hidden></ul>`;
    this.input = html`<input id=${id} type="text" role="combobox" autocomplete="off" spellcheck="false" placeholder=${label}
      aria-controls="${id}-options" aria-expanded="false" aria-autocomplete="list">`;
    this.input.oninput = () => {
      const own = this.read().finally(() => {
        if (this.pending === own) this.pending = undefined;
      });
      this.pending = own;
    };
    this.input.onkeydown = event => {
      if (event.ctrlKey || event.metaKey || !this.press(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    this.input.onblur = () => {
      this.reading.abort();
      this.close();
    };
  }

  /** Does what a key means; returns whether it means something here. */
  press(key) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    const hasOptions = this.options.length > 0;
    if (step && !hasOptions) this.read();
    else if (step) this.move(step);
    // Takes no option of an earlier text.
    else if (key === 'Enter' && this.pending) this.pending.then(() => this.choose(this.at));
    else if (key === 'Enter' && hasOptions) this.choose(this.at);
    else if (key === 'Escape' && hasOptions && !this.isAlwaysOpen) this.close();
    else return false;
    return true;
  }

  /** Reads the options of what is typed, when nothing more is typed for a moment. */
  async read() {
    this.reading.abort();
    this.reading = new AbortController();
    const { signal } = this.reading;
    await new Promise(resolve => setTimeout(resolve, 120));
    const found = signal.aborted ? [] : await this.find(this.input.value.trim(), signal).catch(() => []);
    if (!signal.aborted) this.show(found);
  }

  show(options) {
    this.options = options;
    this.at = 0;
    const item = ({ text, note, icon: name }, i) => html`<li role="option" id="${this.id}-${String(i)}"
      @mousedown=${event => event.preventDefault()} @click=${() => this.choose(i)}>${name && icon(name)}<span class="grow cut">${text}</span><span class="faint">${note}</span></li>`;
    fill(this.list, options.map(item));
    this.list.hidden = options.length === 0;
    this.input.setAttribute('aria-expanded', String(options.length > 0));
    this.move(0);
  }
  close() {
    if (!this.isAlwaysOpen) this.show([]);
  }

  move(by) {
    const { length } = this.options;
    this.at = length && (this.at + by + length) % length;
    for (const [i, each] of [...this.list.children].entries())
      each.setAttribute('aria-selected', String(i === this.at));
    this.input.setAttribute('aria-activedescendant', length ? `${this.id}-${this.at}` : '');
    this.list.children[this.at]?.scrollIntoView({ block: 'nearest' });
  }

  choose(i) {
    const option = this.options[i];
    this.close();
    if (option) this.take(option);
  }
}
