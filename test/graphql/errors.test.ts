import t from 'tap';
import type { Connection } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { fill } from '#test/helper/graphql.ts';

const url = '/api/graphql';

/** A database whose statements fail if they match. */
function breaking(database: Database, pattern: RegExp, error: Error): Database {
  const { reads, costly } = database;
  const broken = (connection: Connection): Connection => ({
    ...connection,
    rows: (text, ...others) =>
      pattern.test(text) ? Promise.reject(error) : connection.rows(text, ...others),
  });
  return { ...database, reads: broken(reads), costly: broken(costly) };
}

t.test('an unexpected error is masked, with its request id, and its path keeps integers', async t => {
  const real = await openTestDatabase(t);
  await fill(real, 2, 1);
  const database = breaking(real, /as parent/, new Error('relation "secret" does not exist, host=10.0.0.1'));
  const { call } = await build(t, { database });
  const headers = { 'x-request-id': 'my-request' };
  const { body, text } = await call('POST', url, 200, {
    body: { query: '{ burrows { label specimens { label } } usersCount }' },
    headers,
  });
  t.notMatch(text, /secret|10\.0\.0\.1|parent\(/);
  t.same(body.data, null, 'specimens cannot be null, nor can the lists around them');
  t.match(body.errors[0], {
    message: 'Internal error.',
    path: ['burrows', 0, 'specimens'],
    extensions: { code: 'INTERNAL_SERVER_ERROR', requestId: 'my-request' },
  });
  await call('POST', url, 200, { body: { query: '{ usersCount }' } });
});

t.test('a database lost during a query is UNAVAILABLE, and one lost before it is 503', async t => {
  const real = await openTestDatabase(t);
  const lost = Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' });
  const { call } = await build(t, { database: breaking(real, /list_position/, lost) });
  const query = '{ user(id: "x") { id } usersCount }';
  const { body, headers } = await call('POST', url, 200, { body: { query } });
  t.match(body, { data: null, errors: [{ path: ['usersCount'], extensions: { code: 'UNAVAILABLE' } }] });
  t.match(headers, { 'retry-after': '1' });

  const away = await build(t, { database: { ...real, available: () => false } });
  const answer = await away.call('POST', url, 503, { body: { query: '{ usersCount }' } });
  t.match(answer.body, { errors: [{ extensions: { code: 'UNAVAILABLE' } }] });
  t.match(answer.headers, { 'retry-after': '1' });
  t.notOk('data' in answer.body);
});
