import t from 'tap';
import { createPostgres } from '#test/helper/database.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { call, startService, withWorld } from '#test/rig/process.ts';

t.test('bug: two values that the schema does not know in one answer ended the process', async t => {
  const DATABASE_URL = await createPostgres(t);
  const service = await startService(t, { DATABASE_URL }, { options: withWorld });
  const { body: burrow } = await call(service, 'POST', '/api/burrows', { label: 'Under the oak' });
  for (const label of ['First', 'Second'])
    await call(service, 'POST', '/api/specimens', { label, burrowId: burrow.id });
  // Stores a value that this release does not know, as a newer one may have written it.
  await queryPostgres(DATABASE_URL, 'alter table specimens drop constraint specimens_grade_known');
  await queryPostgres(DATABASE_URL, `update specimens set grade = 'superb' where label = 'Second'`);
  const query = '{ specimens { grade burrow { specimens { grade } } } }';
  for (let times = 0; times < 3; times++) {
    // The connection stays open, because the service stops the work for a client that has left.
    const answer = await fetch(`${service.url}/api/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    t.match(await answer.json(), { data: null, errors: [{ path: ['specimens', 1, 'grade'] }] });
  }
  t.equal((await call(service, 'GET', '/health/ready')).status, 200);
  t.ok(service.lines.some(({ msg }) => msg.startsWith('A part of a GraphQL operation failed')));
  t.equal(await service.kill('SIGTERM'), 0);
});
