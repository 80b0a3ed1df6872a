import { call } from './api.js';
import { copyable, facts, h, link, linkTo, table, time } from './dom.js';

/** The users, each with the identities whose tokens stand for them. */
export const users = {
  title: 'Users',
  path: '/api/users',
  order: { sort: '-createdAt' },
  idOf: ({ id }) => id,
  filters: { open: ['Id', 'an id'], email: ['E-mail', 'ada@example.com'], name: ['Name, exactly'] },
  columns: {
    Name: ({ id, name }) => linkTo('users', id, name),
    'E-mail': ({ email }) => email,
    Created: ({ createdAt }) => time(createdAt),
  },
  record: {
    read: async (id, signal) => {
      const path = `/api/users/${encodeURIComponent(id)}`;
      const read = (path, query) => call('GET', path, { query, signal });
      const [user, identities] = await Promise.all([read(path), read(`${path}/identities`, { limit: 100 })]);
      return { ...user, identities: identities.data };
    },
    titleOf: ({ name }) => name,
    describe: ({ id, email, createdAt, identities }) => [
      facts({ Id: copyable(id, 'id'), 'E-mail': email, Created: time(createdAt) }),
      table('Identities, the latest first', columns, identities),
      h('p', {}, link('audit', { record: id }, 'What was done to this user')),
    ],
  },
};

const columns = {
  Issuer: ({ issuer }) => issuer,
  Subject: ({ subject }) => subject,
  Linked: ({ createdAt }) => time(createdAt),
};
