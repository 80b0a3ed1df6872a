import t from 'tap';
import { build } from '#test/helper/app.ts';

const { call, newUser } = await build(t);
const unknown = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';
const odd = [
  unknown,
  ...[unknown.toUpperCase(), unknown.replaceAll('-', ''), `{${unknown}}`, '1', 'null', 'x'.repeat(10_000)],
  ...[
    '%00',
    '%F0%9F%98%80',
    'a%2Fb',
    '..%2F..%2Fetc%2Fpasswd',
    "1'%20or%20'1'='1",
    '%25zz',
    '*',
    '__proto__',
    `%20${unknown}`,
    `${unknown}%0A`,
    `${unknown}0`,
  ],
];

t.test('an unknown or malformed id is a 404 for every method', async t => {
  for (const [resource, noun, body] of [
    ['users', 'User', { name: 'Ada', email: 'ada@example.com' }],
    ['burrows', 'Burrow', { label: 'Here', parentId: null }],
  ] as const)
    for (const id of odd) {
      const path = `/api/${resource}/${id}`;
      const { error } = (await call('GET', path, 404)).body;
      t.equal(error.message, `${noun} not found.`, path.slice(0, 60));
      t.same(error.details, { code: 'not_found' });
      t.equal((await call('HEAD', path, 404)).text, '');
      await call('PUT', path, 404, { body });
      await call('PATCH', path, 404, { body: {} });
      await call('DELETE', path, 404);
    }
});

t.test('a malformed id in a body or a query is invalid', async t => {
  for (const id of odd.slice(1).map(decodeURIComponent)) {
    const body = { label: 'One', burrowId: id };
    const { error } = (await call('POST', '/api/specimens', 400, { body })).body;
    t.same(error.details, [{ in: 'body', path: '/burrowId', message: 'must be an id' }], id.slice(0, 60));
    const query = new URLSearchParams({ burrow: id });
    const { body: list } = await call('GET', `/api/specimens?${query}`, 400);
    t.same(list.error.details, [{ in: 'query', path: '/burrow', message: 'must be an id' }]);
  }
});

t.test('an id may be percent-encoded', async t => {
  const { id } = await newUser();
  const encoded = [...id].map(letter => `%${letter.charCodeAt(0).toString(16)}`).join('');
  t.equal((await call('GET', `/api/users/${encoded}`, 200)).body.id, id);
});

t.test('a path or a query that cannot be decoded is refused, not taken literally', async t => {
  for (const text of ['%zz', '%', '%e0%a4', '%ff', '%c0%80', '%ed%a0%80', 'a%2'])
    for (const path of [`/api/users/${text}`, `/api/users?name=${text}`]) {
      const answer = await call('GET', path, 400, { headers: { 'x-request-id': 'mine' } });
      t.match(answer.body.error, { message: /percent-encoded/, details: { code: 'bad_request' } }, path);
      t.match(answer.headers, { 'x-request-id': 'mine', 'x-content-type-options': 'nosniff' });
    }
});
