import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { build } from '#test/helper/app.ts';

const url = '/api/graphql';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const extensionsOf = (text: string) => ({ persistedQuery: { version: 1, sha256Hash: sha256(text) } });
const query = 'query Q { usersCount }';

t.test('a document is sent once, and after that its hash is enough, by GET too', async t => {
  const { call } = await build(t);
  const extensions = extensionsOf(query);
  const unknown = await call('POST', url, 200, { body: { extensions } });
  t.match(unknown.body, {
    errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }],
  });
  await call('POST', url, 200, { body: { query, extensions } });
  const again = await call('POST', url, 200, { body: { extensions } });
  t.same(again.body, { data: { usersCount: 0 } });
  const path = `${url}?${new URLSearchParams({ extensions: JSON.stringify(extensions) })}`;
  t.same((await call('GET', path, 200)).body, again.body);
});

t.test('a document with a wrong hash, or one that is invalid, is not kept', async t => {
  const { call } = await build(t);
  const wrong = { query: '{ burrowsCount }', extensions: extensionsOf(query) };
  t.match((await call('POST', url, 400, { body: wrong })).body, { errors: [{ message: /hash/ }] });
  t.match((await call('POST', url, 200, { body: { extensions: wrong.extensions } })).body, {
    errors: [{ message: 'PersistedQueryNotFound' }],
  });
  const bad = '{'.repeat(30);
  await call('POST', url, 200, { body: { query: bad, extensions: extensionsOf(bad) } });
  t.match((await call('POST', url, 200, { body: { extensions: extensionsOf(bad) } })).body, {
    errors: [{ message: 'PersistedQueryNotFound' }],
  });
  const other = { persistedQuery: { version: 2, sha256Hash: 'x' } };
  await call('POST', url, 400, { body: { query, extensions: other } });
});

t.test('with trusted documents only those in the file run', async t => {
  const path = join(t.testdir(), 'documents.json');
  writeFileSync(path, JSON.stringify({ [sha256(query)]: query }));
  const { call } = await build(t, { settings: { GRAPHQL_TRUSTED_DOCUMENTS: path } });
  t.same((await call('POST', url, 200, { body: { query } })).body, { data: { usersCount: 0 } });
  await call('POST', url, 200, { body: { extensions: extensionsOf(query) } });
  const refused = await call('POST', url, 403, { body: { query: '{ burrowsCount }' } });
  t.match(refused.body, { errors: [{ extensions: { code: 'FORBIDDEN' } }] });
  const both = { query: '{ burrowsCount }', extensions: extensionsOf(query) };
  t.same((await call('POST', url, 200, { body: both })).body, { data: { usersCount: 0 } });
  await call('GET', url, 400, { headers: { accept: 'text/html' } });

  writeFileSync(path, JSON.stringify({ [sha256(query)]: '{ burrowsCount }' }));
  await t.rejects(build(t, { settings: { GRAPHQL_TRUSTED_DOCUMENTS: path } }), /is not the SHA-256/);
});
