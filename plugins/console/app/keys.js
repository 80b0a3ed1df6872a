import { call } from './api.js';
import { attempt, copyable, facts, fields, filledIn, h, link, linkTo, notify, time } from './dom.js';
import { isOwnKey } from './key.js';

/** The API keys: a form for a new one, and a list in which each can be revoked. */
export const keys = {
  title: 'Keys',
  path: '/api/keys',
  order: { sort: '-createdAt' },
  idOf: ({ id }) => id,
  extra: (_query, refresh) => {
    const created = h('div', { role: 'status' });
    const onsubmit = attempt(async ({ target }) => {
      const { scope, ...others } = filledIn(target);
      const body = { ...others, scopes: [scope] };
      created.replaceChildren(...showOnce(await call('POST', '/api/keys', { body })));
      target.reset();
      await refresh();
    });
    const submit = h('button', { class: 'primary' }, 'Create a key');
    return [h('form', { class: 'filters', onsubmit }, fields(members), submit), created];
  },
  columns: {
    Name: ({ id, name }) => [linkTo('keys', id, name), isOwnKey(id) ? ' (this page uses it)' : ''],
    Scope: ({ scopes }) => scopes.join(', '),
    Created: ({ createdAt }) => time(createdAt),
    Expires: expiry,
    'Last used': ({ lastUsedAt }) => time(lastUsedAt),
    Revoked: ({ revokedAt }) => time(revokedAt),
  },
  record: {
    read: (id, signal) => call('GET', `/api/keys/${encodeURIComponent(id)}`, { signal }),
    titleOf: ({ name }) => name,
    describe: key => [
      facts({
        Id: copyable(key.id, 'id'),
        Scope: key.scopes.join(', '),
        User: key.userId && linkTo('users', key.userId),
        Created: time(key.createdAt),
        Expires: expiry(key),
        'Last used': time(key.lastUsedAt),
        Revoked: time(key.revokedAt),
      }),
      h('p', {}, link('audit', { actor: key.id }, 'What was written with it')),
    ],
    actions: { Revoke: { act: revoke, isPossible: ({ revokedAt }) => !revokedAt } },
  },
};

function expiry({ expiresAt }) {
  return expiresAt ? time(expiresAt) : 'never';
}

const members = {
  name: ['Name', 'nightly import'],
  scope: ['Scope', ['read', 'write', 'admin']],
  expiresAt: ['Ends, UTC', Date],
};

const showOnce = ({ name, key }) => [
  h('p', {}, `The key "${name}". Copy it now: it is stored nowhere and cannot be shown again.`),
  h('p', {}, copyable(key, 'key')),
];

async function revoke({ id, name }) {
  const own = isOwnKey(id) ? 'This page uses it, and will need another one. ' : '';
  const text = `${own}It stops working on every server within 5 seconds. This cannot be undone.`;
  if (!confirm(`Revoke the key "${name}"?\n\n${text}`)) return;
  await call('DELETE', `/api/keys/${id}`);
  notify(`The key "${name}" is revoked.`);
}
