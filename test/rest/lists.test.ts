import t from 'tap';
import { build } from '#test/helper/app.ts';

const { call } = await build(t);

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

t.test('an empty list has one page', async t => {
  const { call } = await build(t);
  const { body, headers } = await call('GET', '/api/burrows', 200);
  t.same(body, { data: [], meta: { page: 1, limit: 20, total: 0, totalPages: 0 } });
  const self = '</api/burrows?limit=20&sort=createdAt&page=1>';
  t.equal(headers.link, `${self}; rel="first", ${self}; rel="last"`);
});
