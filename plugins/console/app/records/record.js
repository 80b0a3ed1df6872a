import { call, poll } from './api.js';
import { aside, askToDelete } from './around.js';
import { addressOf, ask, badge, button, copyButton, facts, fill, html, icon, notify } from './dom.js';
import { editor, problem } from './editor.js';
import { extras } from './extras.js';
import { MemberForm } from './form.js';
import { onChange } from './live.js';
import { shown } from './members.js';
import { forgetNames, isTheirs, readNames, titleIn } from './service.js';
import { lastShown } from './table.js';

/** Shows a record of a list, its members and what is around it, and returns what its keys do. */
export async function showRecord(element, list, id, signal) {
  const extra = extras(list);
  const path = `/api/${list.path}/${encodeURIComponent(id)}`;
  const read = () => (extra.read ? extra.read(id, signal) : call('GET', path, { signal }));
  const head = html`<header></header>`;
  const [said, content, around] = [html`<div></div>`, html`<div></div>`, html`<div></div>`];
  let form;
  let now;
  /** Shows the record as it is now. A form stays, with what is being typed. */
  async function show(given = undefined) {
    const record = given ?? (await read());
    if (record.version < now?.version || JSON.stringify(record) === JSON.stringify(now)) return;
    // Its name may have changed.
    if (now) forgetNames(list.path);
    now = record;
    const isForm = list.isChanged && isTheirs(list, record);
    if (form && isForm) await form.merge(record);
    else {
      form = isForm && editor(list, path, record, { read, show, signal });
      fill(content, form ? form.element : (extra.describe?.(record) ?? plainMembers(list, record)));
    }
    fill(head, headOf(list, record, id, show));
    const things = await aside(list, record, signal);
    // A later state may have come meanwhile.
    if (record === now) fill(around, things);
  }
  await show();
  element.append(html`${head}${said}<div class="split">${content}${around}</div>`);
  follow(list, id, show, said, signal);
  const turn = by => {
    location.hash = neighbour(list, id, by) ?? location.hash;
  };
  const back = () => {
    location.hash = listAddress(list);
  };
  return { j: () => turn(1), k: () => turn(-1), Escape: back };
}

/** Shows each later state of the record: as it is told, or, when no stream tells it, by reading again and again. */
function follow(list, id, show, said, signal) {
  if (!list.name) return void poll(() => show(), signal, said);
  let [latest, isShowing] = [undefined, false];
  // At most once a second: each time is a request for each thing around the record.
  async function showLatest() {
    if (isShowing) return;
    isShowing = true;
    for (; latest && !signal.aborted; await new Promise(resolve => setTimeout(resolve, 1000))) {
      const record = latest;
      latest = undefined;
      await show(record).catch(() => {});
    }
    isShowing = false;
  }
  onChange(change => {
    // Some may have been missed.
    if (!change) return void show().catch(() => {});
    if (change.resource !== list.name || change.id !== id) return;
    latest = change.record;
    if (latest) showLatest();
    else fill(said, problem('It was deleted just now.'));
  }, signal);
}

function headOf(list, record, id, show) {
  const title = extras(list).titleOf?.(record) ?? titleIn(list, record);
  const version =
    record.version && html`<span class="soft small only-wide">version ${String(record.version)}</span>`;
  return html`${crumbs(list, id)}<h1>${title}</h1>${record.status && badge(record.status)}${version}<span class="grow"></span>${buttonsOf(list, record, id, show)}`;
}

const listAddress = ({ path }) => (lastShown.path === path ? lastShown.address : addressOf(path));
function neighbour({ path }, id, by) {
  const at = lastShown.path === path ? lastShown.ids.indexOf(id) : -1;
  const next = at < 0 ? undefined : lastShown.ids[at + by];
  return next && addressOf(path, next);
}

function crumbs(list, id) {
  const step = (by, name, label) => {
    const next = neighbour(list, id, by);
    return (
      next &&
      html`<a class="btn quiet tiny" href=${next} aria-label=${label} title=${label}>${icon(name)}</a>`
    );
  };
  return html`<p class="crumbs"><a href=${listAddress(list)}>${list.label}</a> / ${step(-1, 'left', 'Previous: K')}${step(1, 'right', 'Next: J')}</p>`;
}

/** The members for those who may only read them. */
function plainMembers(list, record) {
  const names = Object.keys(list.members).filter(
    name => !['id', 'version', 'createdAt', 'updatedAt'].includes(name),
  );
  const element = html`<div></div>`;
  const draw = known =>
    fill(element, facts(Object.fromEntries(names.map(name => [name, shown(list, name, record, known)]))));
  draw({});
  const parents = list.parents.map(async ({ member, path }) => [
    member,
    await readNames(path, [record[member]]),
  ]);
  if (parents.length > 0) Promise.all(parents).then(all => draw(Object.fromEntries(all)));
  return element;
}

/** What can be done with the record: its actions, and its deletion. */
function buttonsOf(list, record, id, show) {
  const extra = extras(list);
  const actions = list.actions.filter(
    action => /\{id\}\/[^/]+$/.test(action.path) && (extra.isPossible?.(action, record) ?? true),
  );
  const act = async (path, body) => {
    await call('POST', path.replace('{id}', encodeURIComponent(id)), { body });
    await show();
    notify('Done.');
  };
  const made = actions.map(({ path, summary, body }) => {
    const [word] = path.split('/').slice(-1);
    const label = word.replaceAll('-', ' ').replace(/^./, first => first.toUpperCase());
    const send = () => (body ? askForBody(summary, label, list, body, sent => act(path, sent)) : act(path));
    const each = button(label, send);
    // A hint only: the name of the button is what it shows.
    each.title = summary;
    return each;
  });
  const json = copyButton(JSON.stringify(record, null, 2), 'the record as JSON');
  const mayDelete = list.isRemoved && !extra.remove && isTheirs(list, record);
  return [
    made,
    json,
    mayDelete &&
      button(
        [icon('trash'), html`<span>Delete</span>`],
        () => askToDelete(list, record),
        'danger short',
        'Delete',
      ),
  ];
}

/** Asks for the body of an action, or for a new record, in a dialog. */
export function askForBody(title, action, list, members, act) {
  // The form of the record may have fields of the same names.
  const form = new MemberForm({ ...list, members, query: {}, prefix: 'asked' }, {});
  const send = async () => {
    const body = form.body(form.fields.filter(field => field.read() !== ''));
    return body === undefined ? false : act(body);
  };
  return ask(title, form.element, action, send, error => form.refuse(error));
}
