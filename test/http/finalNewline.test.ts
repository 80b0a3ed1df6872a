import t from 'tap';
import { build } from '../helper/app.ts';

t.test('a JSON body ends with a newline, so that the prompt of a terminal has its own line', async t => {
  const { call, newUser } = await build(t);
  const { id } = await newUser();
  const query = { body: { query: '{ usersCount }' } };
  for (const [method, path, status, options] of [
    ['GET', '/', 200],
    ['GET', '/health/ready', 200],
    ['GET', `/api/users/${id}`, 200],
    ['GET', '/api/users', 200],
    ['POST', '/api/users', 201, { body: { name: 'Ada', email: 'ada@example.com' } }],
    ['PATCH', `/api/users/${id}`, 200, { body: { name: 'Ada King' } }],
    ['POST', '/api/users', 400, { body: {} }],
    ['GET', '/nowhere', 404],
    ['POST', '/api/graphql', 200, query],
    ['POST', '/api/graphql', 200, { body: { query: '{ nothing }' } }],
  ] as const) {
    const { text, headers } = await call(method, path, status, options);
    t.match(text, /^[^\n]+\n$/, `${method} ${path}`);
    t.equal(Number(headers['content-length']), Buffer.byteLength(text));
  }
});
