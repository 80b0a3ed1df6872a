import { call } from './api.js';
import { aged, html, lines, part } from './dom.js';

/** The identities whose tokens stand for a user. */
export async function identitiesOf({ id }, signal) {
  const { data } = await call('GET', `/api/users/${id}/identities`, { query: { limit: 100 }, signal });
  const items = data.map(({ issuer, subject, createdAt }) => [
    html`<span>${subject} <small>${issuer}</small></span>`,
    aged(createdAt),
  ]);
  return data.length > 0 && part('Identities', lines(items));
}
