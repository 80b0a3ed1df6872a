import { type FastifyRequest, fastify } from 'fastify';
import t from 'tap';
import parsing from '#plugins/http/requests/parsing.ts';
import { build, type Call } from '#test/helper/app.ts';

const { call, newUser } = await build(t);
const json = { 'content-type': 'application/json' };
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const good = { name: 'Ada', email: 'ada@example.com' };

/** Sends a request that must be refused and returns the error. */
async function refused(status: number, options: Call, method = 'POST', path = '/api/users') {
  const { error } = (await call(method, path, status, options)).body;
  return error as { message: string; details: { code: string } & { path: string; message: string }[] };
}
const raw = (bytes: string | Buffer) => refused(400, { raw: bytes, headers: json });

t.test('a body that is no JSON object is refused with its own error', async t => {
  for (const bytes of ['{', 'nul', '{"name":}', "{'name':'x'}", '{"a":1}}', '{"a":1,}', '\u0000', '[', 'NaN'])
    t.match(await raw(bytes), { message: 'The body is not valid JSON.', details: { code: 'bad_request' } });
  for (const bytes of ['null', '[]', '3'])
    t.match((await raw(bytes)).details, [{ message: 'must be an object' }]);
  t.match(await raw(''), { message: 'The body is empty. Send a JSON object.' });
  t.match((await refused(400, {})).details, [{ path: '', message: 'must be an object' }], 'no body at all');
});

t.test('20,000 nested brackets are refused like any other invalid value', async t => {
  const [open, close] = ['['.repeat(20_000), ']'.repeat(20_000)];
  t.match((await raw(open + close)).details, [{ path: '', message: 'must be an object' }]);
  t.match(await raw(open), { message: 'The body is not valid JSON.' });
  const within = await raw(`{"name":${open}${close},"email":"a@example.com"}`);
  t.match(within.details, [{ path: '/name', message: 'must be a string' }]);
  const objects = `${'{"name":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  t.match((await raw(objects)).details[0], { path: '/email', message: 'is required' });
});

t.test('a body that is not UTF-8 is refused, not repaired', async t => {
  for (const bytes of ['ff', 'c328', 'eda080', 'f8888080', '80']) {
    const body = Buffer.concat([
      Buffer.from('{"name":"'),
      Buffer.from(bytes, 'hex'),
      Buffer.from('","email":"a@b.co"}'),
    ]);
    t.equal((await raw(body)).message, 'The body is not valid UTF-8.', bytes);
  }
});

t.test('NUL and lone surrogates are refused; an escaped surrogate pair is accepted', async t => {
  for (const name of ['\\u0000', 'a\\u0000b', '\\ud800', '\\udc00', '\\udc00\\ud800', 'x\\ud83d'])
    t.match(
      (await raw(`{"name":"${name}","email":"a@example.com"}`)).details,
      [{ path: '/name', message: 'must not contain NUL or half of a surrogate pair' }],
      name,
    );
  const pair = '{"name":"\\ud83d\\ude00","email":"pair@example.com"}';
  t.equal((await call('POST', '/api/users', 201, { raw: pair, headers: json })).body.name, '😀');
});

t.test(
  'a byte order mark at the start is accepted, and a media type in capitals with parameters',
  async () => {
    const raw = `\ufeff${JSON.stringify(good)}`;
    await call('POST', '/api/users', 201, {
      raw,
      headers: { 'content-type': 'Application/JSON; Charset=UTF-8' },
    });
  },
);

t.test('an odd member name is reported as valid text', async t => {
  const { details } = await refused(400, { body: { ...good, [`${'x'.repeat(99)}😀`]: 1, 'a/b~c': 2 } });
  t.equal(details[0]?.path, `/${'x'.repeat(99)}😀`, 'truncated between characters');
  t.equal(details[1]?.path, '/a~1b~0c', 'escaped as a JSON Pointer');
  t.equal((await raw('{"\\ud800":1}')).details[2]?.path, '/\ufffd');
});

t.test('the error lists the first twenty violations and counts the rest', async t => {
  const body = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`m${i}`, 1]));
  const { details } = await refused(400, { body });
  t.equal(details.length, 21);
  t.equal(details[20]?.message, 'and 4982 more');
});

t.test('a body in another media type is refused', async t => {
  for (const type of ['text/plain', 'application/xml', 'application/jsonx', 'text/json', 'nonsense', '*/*'])
    t.match(
      await refused(415, { raw: JSON.stringify(good), headers: { 'content-type': type } }),
      { details: { code: 'unsupported_media_type' } },
      type,
    );
  t.match(await refused(415, { raw: JSON.stringify(good) }), { message: /Send application\/json/ }, 'none');
  const headers = { ...json, 'content-encoding': 'gzip' };
  t.match(await refused(415, { raw: JSON.stringify(good), headers }), { message: /Compressed/ });
});

t.test('a merge patch is accepted by PATCH only', async t => {
  const { id } = await newUser();
  const patched = { raw: '{"name":"Grace"}', headers: mergePatch };
  t.equal((await call('PATCH', `/api/users/${id}`, 200, patched)).body.name, 'Grace');
  for (const type of [mergePatch['content-type'], 'Application/Merge-Patch+JSON']) {
    const options = { raw: JSON.stringify(good), headers: { 'content-type': type } };
    t.match(await refused(415, options), { message: /requires PATCH/ }, type);
    t.match(await refused(415, options, 'PUT', `/api/users/${id}`), { message: /requires PATCH/ }, type);
  }
});

t.test('a body beyond the limit is refused, with and without a content-length', async t => {
  const large = `{"name":"${'x'.repeat(300_000)}"}`;
  t.match(await refused(413, { raw: large, headers: json }), { details: { code: 'too_large' } });
  const just = `{"name":"${'x'.repeat(200_000)}"}`;
  t.match((await raw(just)).details[0], { path: '/email' }, 'a body below the limit is read');
});

t.test('where no body is taken, one with members is refused, not dropped', async t => {
  const { id } = await newUser();
  for (const [method, path] of [
    ['DELETE', `/api/users/${id}`],
    ['POST', `/api/webhook-events/${id}/replay`],
    ['POST', `/api/webhook-events/${id}/dismiss`],
  ] as const) {
    const error = await refused(400, { body: { dryRun: true } }, method, path);
    t.match(error, { message: 'This request must not have a body.', details: { code: 'bad_request' } });
  }
  await call('POST', `/api/webhook-events/${id}/replay`, 404, { body: {} });
});

t.test('a body is let go with its answer: many that arrive together would fill the memory', async t => {
  const app = fastify();
  await app.register(parsing);
  let seen: FastifyRequest | undefined;
  app.post('/', { schema: { body: {} } }, async request => {
    seen = request;
    return request.body;
  });
  const { body } = await app.inject({ method: 'POST', url: '/', payload: [1, 2] });
  t.equal(body, '[1,2]');
  t.equal(seen?.body, undefined);
});
