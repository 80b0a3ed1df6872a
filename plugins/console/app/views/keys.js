import { call } from './api.js';
import { aged, ask, badge, button, copyButton, html, icon, link, notify, openDialog, part } from './dom.js';
import { isOwnKey } from './key.js';
import { askForBody } from './record.js';
import { listAt } from './service.js';

/** The API keys: a new one is shown once, and each can be revoked. */
export const keys = {
  create: true,
  remove: true,
  columns: {
    Name: ({ id, name }) => [html`<b>${link(name, 'keys', id)}</b>`, isOwnKey(id) && ' (this page)'],
    Status: key => badge(stateOf(key)),
    Scopes: ({ scopes }) => scopes.map(scope => html`<span class="scope">${scope}</span> `),
    'Last used': ({ lastUsedAt }) => aged(lastUsedAt) ?? html`<i>never</i>`,
    Expires: ({ expiresAt }) => aged(expiresAt) ?? html`<i>never</i>`,
    Created: ({ createdAt }) => aged(createdAt),
  },
  buttons: (_query, refresh) => button([icon('plus'), 'New key'], () => askForKey(refresh), 'main'),
  titleOf: ({ name }) => name,
  around: [
    async key =>
      part('This key', [
        html`<p>${link('What was written with it', 'audit', undefined, { actor: key.id })}</p>`,
        !key.revokedAt && button('Revoke', () => revoke(key), 'danger'),
      ]),
  ],
};

function stateOf({ revokedAt, expiresAt }) {
  if (revokedAt) return 'revoked';
  return expiresAt && Date.parse(expiresAt) < Date.now() ? 'expired' : 'active';
}

function askForKey(refresh) {
  const list = listAt('keys');
  askForBody('New key', 'Make the key', list, list.create, async body => {
    showOnce(await call('POST', '/api/keys', { body }));
    await refresh();
  });
}

function showOnce({ name, key }) {
  const title = `The key ${name} is made`;
  const dialog = openDialog(
    title,
    html`<h2>${title}</h2><p class="soft">Copy it now: it is stored nowhere, and is shown this once.</p>
      <pre tabindex="0">${key}</pre>
      <footer>${copyButton(key, 'the key')}${button('I have it', () => dialog.close(), 'main')}</footer>`,
  );
  // A click beside it must not lose the key.
  dialog.setAttribute('closedby', 'closerequest');
}

function revoke({ id, name }) {
  const own = isOwnKey(id) ? 'This page uses it, and will need another one. ' : '';
  const text = `${own}It stops working on every server within 5 seconds. This cannot be undone.`;
  ask(`Revoke the key ${name}?`, html`<p class="soft">${text}</p>`, 'Revoke it', async () => {
    await call('DELETE', `/api/keys/${id}`);
    dispatchEvent(new Event('hashchange'));
    notify(`The key ${name} is revoked.`);
  });
}
