import { age } from './age.js';
import { icons } from './icons.js';

const isInTag = text => text.lastIndexOf('<') > text.lastIndexOf('>');
const hole = /^~(\d+)~$/;

/**
 * Makes an element, or a fragment of several, from a template. Values are never markup: a text stays text, and nodes
 * and lists of them are put in its place; null, undefined and false are nothing. `@click=${…}` listens, `?hidden=${…}`
 * sets an attribute or not, and an attribute without a value is left out.
 */
export function html(strings, ...values) {
  const template = document.createElement('template');
  template.innerHTML = strings
    .reduce((text, next, i) => `${text}${isInTag(text) ? `~${i - 1}~` : `<!--~${i - 1}~-->`}${next}`)
    .trim();
  for (const element of template.content.querySelectorAll('*')) {
    for (const { name, value } of [...element.attributes]) {
      if (!value.includes('~')) continue;
      const only = value.match(hole);
      const given = only ? values[only[1]] : value.replace(/~(\d+)~/g, (_, i) => values[i] || '');
      if (/^[@?]/.test(name)) element.removeAttribute(name);
      if (name.startsWith('@')) element.addEventListener(name.slice(1), given);
      else if (name.startsWith('?')) element.toggleAttribute(name.slice(1), Boolean(given));
      else if (given === undefined || given === null || given === false) element.removeAttribute(name);
      else element.setAttribute(name, given);
    }
  }
  const comments = document.createTreeWalker(template.content, NodeFilter.SHOW_COMMENT);
  const found = /** @type {Comment[]} */ ([]);
  while (comments.nextNode()) found.push(/** @type {Comment} */ (comments.currentNode));
  for (const comment of found) comment.replaceWith(...nodesOf(values[comment.data.slice(1, -1)]));
  const { childNodes } = template.content;
  return /** @type {any} */ (childNodes.length === 1 ? childNodes[0] : template.content);
}
const isNothing = value => value === undefined || value === null || value === false || value === '';
/** What is put into an element. */
const nodesOf = value => [value].flat(Infinity).filter(each => !isNothing(each));
export const fill = (element, ...content) => element.replaceChildren(...nodesOf(content));

export const icon = name =>
  html`<svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d="${icons[name]}"></path></svg>`;

/**
 * Where the reader is: a list, a record of it, and the filters. It is in the fragment of the URL, which can be sent to
 * a colleague.
 */
export function addressNow() {
  const [path, search] = location.hash.replace(/^#\/?/, '').split('?');
  const [list, id] = path.split('/');
  const query = Object.fromEntries(new URLSearchParams(search));
  return { list: list || 'overview', id: id && decode(id), query };
}
/** Somebody may have typed the address. */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
export function addressOf(list, id, query = {}) {
  const search = String(new URLSearchParams(query));
  return `#/${list}${id === undefined ? '' : `/${encodeURIComponent(id)}`}${search && `?${search}`}`;
}
export function go(...address) {
  location.hash = addressOf(...address);
}
export const link = (text, ...address) => html`<a href=${addressOf(...address)}>${text}</a>`;

/** A time in UTC as it is typed: without seconds that are 0. */
export const timeText = instant => instant.replace('T', ' ').replace(/(:00)?(\.0*)?Z$/, '');
/** A time in UTC to the minute, or as a text; its title has all of it. */
export function time(instant, text = instant.slice(0, 16).replace('T', ' ')) {
  return html`<time datetime=${instant} title="${instant.slice(0, 19).replace('T', ' ')} UTC">${text}</time>`;
}
/** A time as its age, which goes on while one looks. */
export const aged = instant => instant && html`<span class="aged">${time(instant, age(instant))}</span>`;
setInterval(() => {
  for (const each of document.querySelectorAll('.aged time'))
    each.textContent = age(each.getAttribute('datetime'));
}, 10_000);

export const count = (number, noun, nouns = `${noun}s`) =>
  `${number.toLocaleString('en')} ${number === 1 ? noun : nouns}`;

const tones = {
  good: 'processed active paid published trialing',
  info: 'received sent',
  warn: 'failed past_due incomplete paused',
  bad: 'dead unpaid',
};
/** A state: a word, a shape and a colour. The page does not guess what other words mean. */
export function badge(word) {
  const tone = Object.keys(tones).find(each => tones[each].split(' ').includes(word)) ?? 'still';
  return html`<span class="badge ${tone}">${word.replaceAll('_', ' ')}</span>`;
}

/** A button; what it starts runs once at a time, and says why it failed. */
export const button = (content, onclick, css = '', label = undefined) =>
  html`<button type="button" class="${css}" aria-label=${label} title=${label} @click=${attempt(onclick)}>${content}</button>`;

/** A button that copies a text. A page without TLS has no clipboard, unless it comes from this machine. */
export function copyButton(text, what) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    notify(`Copied: ${what}.`);
  };
  return navigator.clipboard && button(icon('copy'), copy, 'quiet tiny', `Copy ${what}`);
}
export const copyable = (text, what) =>
  text && html`<span class="row"><code>${text}</code>${copyButton(text, what)}</span>`;

const toast = html`<p id="toast" role="status"></p>`;
let fading;
/**
 * Says what happened, to the eye and to a screen reader. It is in the dialog that is open, because nothing outside of
 * it can be read then.
 */
export function notify(text) {
  ([...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body).append(toast);
  fill(toast, text);
  clearTimeout(fading);
  fading = setTimeout(() => fill(toast), 8000);
}

/**
 * Makes a handler of events from work that takes a while. Until the work ends, further events do nothing: a double
 * click is one click. A failure is shown, unless the reader has left the view.
 */
export function attempt(work, tell = error => notify(error.message)) {
  let isRunning = false;
  return async event => {
    event?.preventDefault();
    if (isRunning) return;
    isRunning = true;
    try {
      await work(event);
    } catch (error) {
      if (error.name !== 'AbortError') tell(error);
    } finally {
      isRunning = false;
    }
  };
}

/** Waits for work until somebody would notice; returns whether it has ended, well or not. */
export const isSoon = work =>
  Promise.race([
    work.then(() => true).catch(() => true),
    new Promise(resolve => setTimeout(resolve, 200, false)),
  ]);

/** Opens a dialog over the page. Escape and a click beside it close it, and the focus returns. */
export function openDialog(label, content, css = '') {
  const before = document.activeElement;
  const dialog = html`<dialog aria-label=${label} class="${css}" closedby="any">${content}</dialog>`;
  dialog.onclose = () => {
    // What was said in it is still to be read.
    if (dialog.contains(toast)) document.body.append(toast);
    dialog.remove();
    // The view may have been drawn again.
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  };
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Asks in a form before something happens. What `act` refuses is said in the dialog, which then stays. */
export function ask(title, content, action, act, explain = error => error.message) {
  const why = html`<p class="why" role="alert"></p>`;
  const work = async () => {
    fill(why);
    if ((await act()) !== false) dialog.close();
  };
  const css = /^(Delete|Revoke)/.test(action) ? 'main danger' : 'main';
  const dialog = openDialog(
    title,
    html`<h2>${title}</h2>
      <form @submit=${attempt(work, error => fill(why, explain(error)))}>
        ${content}${why}
        <footer>${button('Not now', () => dialog.close())}<button class="${css}">${action}</button></footer>
      </form>`,
  );
  return dialog;
}

/** Names and values; values that are absent are left out. */
export const facts = entries =>
  html`<dl class="facts">${Object.entries(entries)
    .filter(([, value]) => !isNothing(value))
    .map(([name, value]) => [html`<dt>${name}</dt>`, html`<dd>${value}</dd>`])}</dl>`;

/** A part of a page under its own heading, and the lines of a list in it. */
export const part = (title, content) => html`<section class="part"><h2>${title}</h2>${content}</section>`;
export const lines = items => html`<ul class="links">${items.map(item => html`<li>${item}</li>`)}</ul>`;

/** An element of a drawing whose parts are made one by one. */
export function svg(name, members, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [member, value] of Object.entries(members)) element.setAttribute(member, value);
  element.append(...children);
  return element;
}
