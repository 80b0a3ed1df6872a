import t from 'tap';
import { build } from '#test/helper/app.ts';

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

t.test('a query from a browser is executed, and a client without a query gets an error', async t => {
  const { call } = await build(t);
  const answer = await call('GET', '/api/graphql?query={usersCount}', 200, { headers: html });
  t.same(answer.body, { data: { usersCount: 0 } });
  await call('GET', '/api/graphql', 400, { headers: { accept: '*/*' } });
});

t.test('without introspection there is no tool', async t => {
  const { app, call } = await build(t, { settings: { GRAPHQL_INTROSPECTION: 'off' } });
  await call('GET', '/api/graphql', 400, { headers: html });
  t.equal((await app.inject('/api/graphql/tool/x/graphiql.js')).statusCode, 404);
});
