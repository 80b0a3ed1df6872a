import { call } from './api.js';
import {
  addressOf,
  aged,
  ask,
  badge,
  copyable,
  count,
  facts,
  go,
  html,
  icon,
  isSoon,
  lines,
  link,
  notify,
  part,
  time,
} from './dom.js';
import { forgetDraft } from './editor.js';
import { extras } from './extras.js';
import { boldList } from './form.js';
import { kindOf, plainText } from './members.js';
import { isAdmin, isTheirs, listAt, readNames, titleIn } from './service.js';

/** What is around a record: what it belongs to, what belongs to it, what happened to it, and its id. */
export async function aside(list, record, signal) {
  const { idOf = ({ id }) => id, around = [] } = extras(list);
  const parts = [
    ...(list.parents.length > 0 ? [belongsTo(list, record)] : []),
    ...list.children.map(relation => children(relation, record.id, signal)),
    ...around.map(read => read(record, signal)),
    ...(isAdmin() && list.path !== 'audit' ? [history(idOf(record), signal)] : []),
  ];
  const slots = parts.map(made => {
    // Each part has its place before it is there, so that nothing jumps over another.
    const slot = html`<section class="part"></section>`;
    made.then(
      section => (section ? slot.replaceWith(section) : slot.remove()),
      () => slot.remove(),
    );
    return slot;
  });
  const { id, version, createdAt, updatedAt } = record;
  const known = {
    id: copyable(id, 'the id'),
    version,
    created: createdAt && time(createdAt),
    changed: updatedAt && time(updatedAt),
  };
  const element = html`<aside>${slots}<section class="part">${facts(known)}</section></aside>`;
  await isSoon(Promise.allSettled(parts));
  return element;
}

async function belongsTo(list, record) {
  const parents = list.parents.filter(({ member }) => record[member]);
  const items = parents.map(async ({ member, name, path }) => {
    const names = await readNames(path, [record[member]]);
    return [
      icon('ref'),
      html`<span class="grow cut">${link(names.get(record[member]), path, record[member])} <small>${name}</small></span>`,
    ];
  });
  return parents.length > 0 && part('Belongs to', lines(await Promise.all(items)));
}

/** The first children of one relation, and the way to all of them. */
async function children({ path, name, member }, id, signal) {
  const list = listAt(path);
  if (!list?.query[name]) return undefined;
  const { data, meta } = await call('GET', `/api/${path}`, { query: { [name]: id, limit: 5 }, signal });
  const amount = Object.keys(list.members).find(
    each => kindOf(list, each) === 'number' && each !== 'version',
  );
  const items = data.map(child => [
    link(titleIn(list, child), path, child.id),
    amount && html`<span class="num">${plainText('number', child[amount])}</span>`,
  ]);
  const all = meta.total > data.length && [
    [link(`All ${meta.total.toLocaleString('en')}`, path, undefined, { [name]: id })],
  ];
  const mine = list.owner === member ? { [member]: id } : undefined;
  const add =
    list.create &&
    isTheirs(list, mine) &&
    html`<a href=${addressOf(path, 'new', { [member]: id })}>Add one</a>`;
  return part(
    [list.nouns, html`<span class="faint">${meta.total.toLocaleString('en')}</span>`, add],
    lines([...items, ...(all || [])]),
  );
}

const transports = { rest: 'REST', graphql: 'GraphQL' };
/** Who did what to a record, the latest first. The log keeps values of the states of customers alone. */
async function history(id, signal) {
  const { data } = await call('GET', '/api/audit', { query: { record: id, limit: 20 }, signal });
  const did = ({ action, changed, details }) => {
    if (details?.to) return [details.from ? badge(details.from) : 'none', ' → ', badge(details.to)];
    if (changed.length > 0) return ['changed ', boldList(changed)];
    return { create: 'created it', delete: 'deleted it' }[action.split('.')[1]] ?? action;
  };
  const by = ({ actorName, details }) =>
    details?.event
      ? link(details.eventId ?? details.event, 'webhook-events', details.event)
      : html`<b>${actorName}</b>`;
  const items = data.map(
    entry => html`<li>${by(entry)} <small>${transports[entry.transport] ?? entry.transport}, ${aged(entry.details?.occurredAt ?? entry.createdAt)}</small>
      <p class="soft">${did(entry)}</p></li>`,
  );
  const all = link('In the audit log', 'audit', undefined, { record: id });
  return part(['History', all], html`<ol class="history">${items}</ol>`);
}

/** Says what hangs on a record before it is deleted. */
export async function askToDelete(list, record) {
  const related = list.children.map(async ({ path, name, isAlways }) => {
    const { noun, nouns, query } = listAt(path) ?? { query: {} };
    if (!(name in query)) return { total: 0, isAlways, text: '' };
    const { meta } = await call('GET', `/api/${path}`, { query: { [name]: record.id, limit: 1 } });
    return { total: meta.total, isAlways, text: count(meta.total, noun, nouns) };
  });
  const hanging = (await Promise.all(related)).filter(({ total }) => total > 0);
  const all = hanging.map(({ text }) => text).join(', ');
  const isAsked = hanging.some(({ isAlways }) => !isAlways);
  const content = [
    all &&
      html`<p class="soft">${all} hang on it, so it goes only together with them, and with what hangs on those.</p>`,
    isAsked && html`<label class="check"><input type="checkbox" required> Delete ${all} too</label>`,
    html`<p class="small faint">It cannot be undone. The audit log keeps that it happened, and who did it.</p>`,
  ];
  const name = titleIn(list, record);
  ask(`Delete the ${list.noun} ${name}?`, content, `Delete 1 ${list.noun}${all && `, ${all}`}`, async () => {
    const headers = { 'if-match': `"${record.version}"` };
    await call('DELETE', `/api/${list.path}/${record.id}`, { query: all ? { cascade: true } : {}, headers });
    forgetDraft();
    go(list.path);
    notify(`Deleted: ${name}.`);
  });
}
