import t from 'tap';
import { createPostgres } from '../../helper/database.ts';
import { queryPostgres } from '../../rig/cluster/postgres.ts';
import { call, startService } from '../../rig/process.ts';

t.test('bug: two values that the schema does not know in one answer ended the process', async t => {
  const DATABASE_URL = await createPostgres(t);
  const service = await startService(t, { DATABASE_URL });
  const { body: author } = await call(service, 'POST', '/api/users', { name: 'A', email: 'a@example.com' });
  for (const title of ['First', 'Second'])
    await call(service, 'POST', '/api/posts', { title, authorId: author.id });
  // As a server of an older release sees what a newer one has written.
  await queryPostgres(DATABASE_URL, 'alter table posts drop constraint posts_status_known');
  await queryPostgres(DATABASE_URL, `update posts set status = 'archived' where title = 'Second'`);
  const query = '{ posts { status author { posts { status } } } }';
  for (let times = 0; times < 3; times++) {
    // The connection stays open: nothing goes on for a client that has left.
    const answer = await fetch(`${service.url}/api/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    t.match(await answer.json(), { data: null, errors: [{ path: ['posts', 1, 'status'] }] });
  }
  t.equal((await call(service, 'GET', '/health/ready')).status, 200);
  t.ok(service.lines.some(({ msg }) => msg.startsWith('A part of a GraphQL operation failed')));
  t.equal(await service.kill('SIGTERM'), 0);
});
