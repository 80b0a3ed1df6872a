import t from 'tap';
import { build } from '#test/helper/app.ts';
import { exchange, request } from '#test/helper/http.ts';

const { app, call, newUser } = await build(t);
const json = { Connection: 'keep-alive', 'Content-Type': 'application/json' };
const chunks = { 'Transfer-Encoding': 'chunked' };
const next = request('GET /health/live');
const statusesIn = (answers: string) =>
  [...answers.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));

// What follows a DELETE on its connection, and the statuses of all answers. Only a 204 says that it was carried out.
const cases: [string, Record<string, string>, string, number[]][] = [
  ['no body', { 'Content-Length': '0' }, next, [204, 200]],
  ['an empty body in chunks', chunks, `0\r\n\r\n${next}`, [204, 200]],
  ['the body that it announces', { 'Content-Length': '2' }, `{}${next}`, [204, 200]],
  ['a body that a DELETE must not have', chunks, `7\r\n{"a":1}\r\n0\r\n\r\n${next}`, [400, 200]],
  ['a body without a type', { 'Content-Type': '', 'Content-Length': '2' }, `{}${next}`, [415, 200]],
  ['a longer body', { 'Content-Length': '2' }, '{} and more', [204, 400]],
  ['a body without a length', {}, '{}', [204, 400]],
  ['a shorter body', { 'Content-Length': '5' }, `{}${next}`, [400, 400]],
  ['a broken chunk', chunks, '2\r\n{}\r\nzz\r\n', [400]],
  ['two lengths', { 'Content-Length': '0', 'content-length': '2' }, `{}${next}`, [400]],
  ['a length and chunks', { 'Content-Length': '2', ...chunks }, `0\r\n\r\n${next}`, [400]],
];
for (const [name, headers, rest, statuses] of cases)
  t.test(`each request has one answer, and a DELETE is done only if it says so: ${name}`, async t => {
    const { id } = await newUser();
    const answers = await exchange(app, request(`DELETE /api/users/${id}`, { ...json, ...headers }, rest));
    t.same(statusesIn(answers), statuses);
    await call('GET', `/api/users/${id}`, statuses[0] === 204 ? 404 : 200);
  });

t.test('a request that breaks off is not answered in place of the one before', async t => {
  const { id } = await newUser();
  const broken = request('POST /api/users', { ...json, ...chunks }, 'zz\r\n');
  const answers = await exchange(app, request(`DELETE /api/users/${id}`, json), broken);
  t.same(statusesIn(answers), [204, 400]);
});

t.test('a client that is sending too large a body gets its answer, and keeps its connection', async t => {
  const body = 'x'.repeat(5_000_000);
  const inChunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  for (const path of ['/api/users', '/api/graphql'])
    for (const [headers, sent] of [
      [{ 'Content-Length': `${body.length}` }, body],
      [chunks, inChunks],
    ] as const) {
      const large = request(`POST ${path}`, { ...json, ...headers }, sent);
      t.same(statusesIn(await exchange(app, large, next)), [413, 200], path);
    }
});
