import t from 'tap';
import type { User } from '#schemas/user.ts';
import { build } from '#test/helper/app.ts';
import { burrow } from '#test/world/burrows.ts';

const { call, newUser, make } = await build(t);
// 45 users: some names are equal, and the last page is not full.
const users: User[] = [];
for (let i = 0; i < 45; i++)
  users.push(await newUser({ name: `Name ${i % 4}`, email: `U${(i * 7) % 45}@example.com` }));
const ids = users.map(({ id }) => id);
const list = async (query = '') => (await call('GET', `/api/users${query}`, 200)).body;
const idsOf = (body: { data: User[] }) => body.data.map(({ id }) => id);

t.test('pages of any size contain every record exactly once', async t => {
  for (const limit of [1, 7, 20, 44, 45, 46, 100]) {
    const seen: string[] = [];
    const pages = Math.ceil(45 / limit);
    for (let page = 1; page <= pages; page++) {
      const body = await list(`?page=${page}&limit=${limit}`);
      t.same(body.meta, { page, limit, total: 45, totalPages: pages });
      seen.push(...idsOf(body));
    }
    t.same(seen, ids, `limit ${limit}`);
  }
});

t.test('a page past the end is empty and has the correct totals', async t => {
  for (const page of [4, 1000, 2147483647])
    for (const others of ['', '&name=No&createdSince=2000-01-01T00:00:00Z']) {
      const { data, meta } = await list(`?page=${page}&limit=100${others}`);
      const total = others === '' ? 45 : 0;
      t.same([data, meta], [[], { page, limit: 100, total, totalPages: Math.ceil(total / 100) }]);
    }
});

t.test('page and limit must be whole numbers in range, and the error names the range', async t => {
  const wrong = ['0', '-1', '1.5', '1e2', '', 'x', '0x10', ' 1', '+1', '99999999999999999999'];
  for (const resource of ['users', 'specimens'])
    for (const [name, range] of [
      ['page', 'from 1 to 2147483647'],
      ['limit', 'from 1 to 100'],
    ] as const)
      for (const value of [...wrong, name === 'limit' ? '101' : '2147483648']) {
        const path = `/api/${resource}?${new URLSearchParams({ [name]: value })}`;
        const { error } = (await call('GET', path, 400)).body;
        const message = `must be a whole number ${range}`;
        t.same(error.details, [{ in: 'query', path: `/${name}`, message }], path);
      }
});

t.test('every sort is a total order in both directions: ties follow the order of creation', async t => {
  const by = (key: (user: User) => string) => (a: User, b: User) =>
    key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : ids.indexOf(a.id) - ids.indexOf(b.id);
  for (const [sort, key] of [
    ['createdAt', (user: User) => user.id],
    ['name', (user: User) => user.name],
    ['email', (user: User) => user.email.toLowerCase()],
  ] as const) {
    const expected = users.toSorted(by(key)).map(({ id }) => id);
    const pages = async (order: string) =>
      (await Promise.all([1, 2, 3].map(page => list(`?sort=${order}&page=${page}`)))).flatMap(idsOf);
    t.same(await pages(sort), expected, sort);
    t.same(await pages(`-${sort}`), expected.toReversed(), `-${sort}`);
  }
});

t.test('labels sort by code point', async t => {
  for (const label of ['b', 'a', 'B', 'ä', 'a', '10', '9', ' ']) await make(burrow, { label });
  const { data } = (await call('GET', '/api/burrows?sort=label', 200)).body;
  const sorted = data.map(({ label }: { label: string }) => label);
  t.same(sorted, [' ', '10', '9', 'B', 'a', 'a', 'b', 'ä'], 'by code point, on every server');
});

t.test('every page links to its neighbours with all query parameters', async t => {
  const relations = async (path: string) => {
    const { link = '' } = (await call('GET', path, 200)).headers;
    return Object.fromEntries(
      link.split(', ').map(part => {
        const [, url = '', rel] = /^<(.*)>; rel="(\w+)"$/.exec(part) ?? [];
        t.ok(url.startsWith('/api/users?'), url);
        return [rel, new URLSearchParams(url.split('?')[1]).get('page')];
      }),
    );
  };
  t.same(await relations('/api/users'), { first: '1', next: '2', last: '3' });
  t.same(await relations('/api/users?page=2'), { first: '1', prev: '1', next: '3', last: '3' });
  t.same(await relations('/api/users?page=3'), { first: '1', prev: '2', last: '3' });
  t.same(await relations('/api/users?page=99'), { first: '1', prev: '3', last: '3' });
});

t.test('an empty list has one page', async t => {
  const { call } = await build(t);
  const { body, headers } = await call('GET', '/api/burrows', 200);
  t.same(body, { data: [], meta: { page: 1, limit: 20, total: 0, totalPages: 0 } });
  const self = '</api/burrows?limit=20&sort=createdAt&page=1>';
  t.equal(headers.link, `${self}; rel="first", ${self}; rel="last"`);
});
