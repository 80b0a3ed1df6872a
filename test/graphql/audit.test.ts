import { serverAudits } from 'graphql-http';
import t from 'tap';
import { build } from '../helper/app.ts';

t.test('the official audit of GraphQL over HTTP: 61 of 61', async t => {
  const { app } = await build(t);
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/api/graphql`;
  const audits = serverAudits({ url });
  t.equal(audits.length, 61);
  const results = await Promise.all(audits.map(audit => audit.fn()));
  for (const result of results) {
    const reason = 'reason' in result ? result.reason : '';
    t.equal(result.status, 'ok', `${result.id} ${result.name} ${reason}`);
  }
});
