import { call, isOwnKey } from './api.js';
import { confirm } from './dialogs.js';
import { attempt, field, h, input, notify, row, select, table, time, valuesOf } from './dom.js';

const headers = ['Name', 'Scope', 'Created', 'Expires', 'Last used', 'State'];
const scopes = { read: 'read', write: 'write, and read', admin: 'admin: everything' };

/** The API keys: a form for a new one, and a list in which each can be revoked. */
export async function showKeys(view, _query, signal) {
  const { element, body } = table('Keys, the newest first', headers);
  const more = h(
    'button',
    { type: 'button', hidden: true, onclick: attempt(() => load(next)) },
    'Load older',
  );
  const created = h('div', { role: 'status' });
  let next = '';

  async function load(after) {
    const query = { sort: '-createdAt', limit: 50, after };
    const { data, meta } = await call('GET', '/api/keys', { query, signal });
    if (after === undefined) body.replaceChildren();
    body.append(...data.map(key => rowOf(key, load)));
    next = meta.next ?? undefined;
    more.hidden = next === undefined;
  }

  async function create(event) {
    const form = event.target;
    created.replaceChildren(...showOnce(await call('POST', '/api/keys', { body: keyIn(form) })));
    form.reset();
    await load();
  }

  view.append(h('h2', {}, 'Keys'), createForm(attempt(create)), created, element, more);
  await load();
}

const createForm = onsubmit =>
  h(
    'form',
    { class: 'filters', onsubmit },
    field('Name', input('name', '', { required: true, maxLength: 200, placeholder: 'nightly import' })),
    field('Scope', select('scope', scopes, 'read')),
    field(
      'Ends after days',
      input('days', '', { type: 'number', min: 1, max: 36_500, placeholder: 'never' }),
    ),
    h('button', { class: 'primary', type: 'submit' }, 'Create a key'),
  );

function keyIn(form) {
  const { name, scope, days } = valuesOf(form);
  const expiresAt = days && new Date(Date.now() + Number(days) * 86_400_000).toISOString();
  return { name, scopes: [scope], expiresAt };
}

function showOnce({ name, key }) {
  const onclick = attempt(async () => {
    await navigator.clipboard.writeText(key);
    notify('The key is copied.');
  });
  return [
    h('p', {}, `The key "${name}". Copy it now: it is stored nowhere and cannot be shown again.`),
    h('pre', {}, key),
    // Without TLS, browsers let only pages of this machine write to the clipboard.
    navigator.clipboard && h('button', { type: 'button', onclick }, 'Copy'),
  ].filter(Boolean);
}

function rowOf(key, load) {
  const { id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt } = key;
  async function revoke() {
    const own = isOwnKey(id) ? 'This page uses it, and will need another one. ' : '';
    const text = `${own}It stops working on every server within 5 seconds. This cannot be undone.`;
    if (!(await confirm({ title: `Revoke the key "${name}"?`, text, action: 'Revoke' }))) return;
    await call('DELETE', `/api/keys/${id}`);
    notify(`The key "${name}" is revoked.`);
    await load();
  }
  const onclick = attempt(revoke);
  const button = h('button', { type: 'button', onclick, 'aria-label': `Revoke ${name}` }, 'Revoke');
  const state = revokedAt ? ['revoked ', time(revokedAt)] : button;
  return row(headers, [
    isOwnKey(id) ? `${name} (this page uses it)` : name,
    scopes.join(', '),
    time(createdAt),
    expiresAt ? time(expiresAt) : 'never',
    time(lastUsedAt),
    h('span', {}, state),
  ]);
}
