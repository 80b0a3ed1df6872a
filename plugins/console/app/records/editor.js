import { age } from './age.js';
import { call } from './api.js';
import { attempt, button, fill, go, html, icon, link, notify } from './dom.js';
import { boldList, MemberForm } from './form.js';
import { isAdmin, service } from './service.js';

/** What was typed and not saved, and of which state of the record, by the address of its page, until it is closed. */
const drafts = new Map();
let current;
addEventListener('beforeunload', event => {
  if (drafts.size > 0 || current?.changed().length > 0) event.preventDefault();
});

export const problem = words =>
  words && html`<div class="note bad" role="alert">${icon('bad')}<p class="grow">${words}</p></div>`;

/** The form of a record. It sends what was changed, on the condition that nobody else was faster. */
export function editor(list, path, record, { read, show, signal }) {
  const banner = html`<div></div>`;
  const state = html`<span class="grow small soft" role="status"></span>`;
  const draft = drafts.get(location.hash);
  const form = new MemberForm(list, draft?.base ?? record, tell);
  const takeBack = () => form.changed().map(field => form.choose(field, true));
  const discard = button('Discard', takeBack, 'quiet');
  const save = html`<button class="main">Save <kbd class="only-wide">Ctrl ↵</kbd></button>`;
  function tell() {
    const [changes, choices] = [form.changed().length, form.open.size];
    const words = [changes > 0 && `${changes} changed`, choices > 0 && `${choices} to choose`];
    fill(state, words.filter(Boolean).join(', '));
    for (const each of [discard, save]) each.hidden = changes === 0;
    if (choices === 0) banner.querySelector('.row')?.remove();
  }
  let saving;
  /** Takes over a later state of the record; what is being typed stays. */
  async function merge(theirs) {
    // It may be what is being saved, told before the answer.
    await saving?.catch(() => {});
    if (theirs.version <= form.base.version) return;
    const hadChanges = form.changed().length > 0;
    const changed = form.merge(theirs);
    const isConflict = hadChanges && changed.length > 0;
    fill(banner, isConflict && (await sayFaster(form, theirs, changed)));
  }
  async function submit() {
    const [unsettled] = form.open;
    if (unsettled) return unsettled.say('Choose: theirs or yours.');
    const sent = new Map(form.changed().map(field => [field, field.read()]));
    const body = form.body([...sent.keys()]);
    if (body === undefined || sent.size === 0) return;
    const headers = { 'if-match': `"${form.base.version}"` };
    saving = call('PATCH', path, { body, headers });
    const saved = await saving;
    form.saved(saved, sent);
    fill(banner);
    await show(saved);
    notify('Saved.');
  }
  async function explain(error) {
    if (error.status === 412 || error.details.code === 'stale') return show(await read());
    fill(banner, problem(error.status === 404 ? 'It was deleted meanwhile.' : form.refuse(error)));
  }
  keepDraft(form, signal);
  if (draft) merge(record);
  tell();
  const onsubmit = attempt(submit, error => explain(error).catch(failed => notify(failed.message)));
  const element = html`<form @submit=${onsubmit} aria-label="Members of the ${list.noun}">
    ${banner}${form.element}<div class="save">${state}${discard}${save}</div></form>`;
  return { element, merge };
}

/** Keeps what was typed for who comes back to the page. */
function keepDraft(form, signal) {
  const address = location.hash;
  const { typed = new Map() } = drafts.get(address) ?? {};
  drafts.delete(address);
  current = form;
  for (const field of form.fields) {
    if (typed.has(field.name)) field.type(typed.get(field.name));
    form.settle(field);
  }
  signal.addEventListener('abort', () => {
    if (current !== form) return;
    current = undefined;
    const typed = form.changed().map(field => [field.name, field.read()]);
    if (typed.length > 0) drafts.set(address, { base: form.base, typed: new Map(typed) });
  });
}
/** What was typed is not needed any more. */
export function forgetDraft() {
  current = undefined;
}

async function sayFaster(form, theirs, changed) {
  const query = { record: theirs.id, limit: 1 };
  const log = isAdmin() ? await call('GET', '/api/audit', { query }).catch(() => undefined) : undefined;
  const { actorName = 'Somebody', createdAt = theirs.updatedAt } = log?.data[0] ?? {};
  const both = [...form.open].map(({ name }) => name);
  const choose = isTheirs => [...form.open].map(field => form.choose(field, isTheirs));
  const choices = html`<div class="row">${button('Take theirs', () => choose(true))}${button('Keep mine', () => choose(false))}</div>`;
  const names = changed.map(({ name }) => name);
  return html`<div class="note warn" role="status">${icon('warn')}<div class="grow"><b>Somebody was faster.</b>
    <p>${actorName} changed ${boldList(names)} ${age(createdAt)}, so this ${form.list.noun} is at version ${String(theirs.version)}. Your changes are kept below.
    ${both.length > 0 && [boldList(both), both.length === 1 ? ' was changed by both.' : ' were changed by both.']}</p></div>${both.length > 1 && choices}</div>`;
}

/** A page without TLS has no `randomUUID`. */
const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join('-');

/** The form of a new record; the query fills in members, such as the parent of a child, and a person is the owner. */
export function showNew(element, list, query, signal) {
  const { person } = service.caller;
  const first = (name, member) => query[name] ?? (name === list.owner && person ? person : member.default);
  const defaults = Object.entries(list.create).map(([name, member]) => [name, first(name, member)]);
  const form = new MemberForm({ ...list, members: list.create }, Object.fromEntries(defaults));
  const said = html`<div></div>`;
  let [last, key] = ['', newKey()];
  const submit = async () => {
    const body = form.body(form.fields);
    if (body === undefined) return;
    // A repetition after a lost answer has the same key, and takes effect once.
    if (JSON.stringify(body) !== last) [last, key] = [JSON.stringify(body), newKey()];
    const made = await call('POST', `/api/${list.path}`, { body, headers: { 'idempotency-key': key } });
    forgetDraft();
    go(list.path, made.id);
    notify('Created.');
  };
  element.append(html`<header><p class="crumbs">${link(list.nouns, list.path)} /</p><h1>New ${list.noun}</h1></header>
    <form class="new" @submit=${attempt(submit, error => fill(said, problem(form.refuse(error))))}>${said}${form.element}
    <div class="save"><span class="grow"></span><button class="main">Create <kbd class="only-wide">Ctrl ↵</kbd></button></div></form>`);
  keepDraft(form, signal);
  return { Escape: () => go(list.path) };
}
