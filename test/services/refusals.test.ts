import t from 'tap';
import { DrizzleQueryError } from '../../drizzle/orm.ts';
import { posts } from '../../drizzle/tables/posts.ts';
import { users } from '../../drizzle/tables/users.ts';
import { AppError, notFound } from '../../src/core/errors.ts';
import { newId } from '../../src/core/ids.ts';
import { orm } from '../../src/database/connection.ts';
import { deletionOf } from '../../src/services/audit.ts';
import { explain } from '../../src/services/refusals.ts';
import { user } from '../../src/services/users.ts';
import { inside } from '../helper/access.ts';
import { build } from '../helper/app.ts';

/** A driver error as the query builder wraps it. */
const failure = (members: object) =>
  new DrizzleQueryError('insert', ['ada@example.com'], Object.assign(new Error('x'), members));

t.test('a constraint violation becomes an error for the client, with either driver', async t => {
  for (const name of ['constraint', 'constraint_name']) {
    t.match(explain(failure({ code: '23505', [name]: 'users_email_key' })), {
      code: 'conflict',
      details: { code: 'email_taken', path: '/email' },
    });
    t.match(explain(failure({ code: '23503', [name]: 'posts_author_id_fkey' })), {
      code: 'invalid',
      details: [{ in: 'body', path: '/authorId' }],
    });
  }
});

t.test('a violated foreign key tells a missing author from a user with posts', async t => {
  const { newUser, newPost, database } = await build(t);
  const author = await newUser();
  const { id: _, ...post } = await newPost({ authorId: author.id });
  const refused = (write: Promise<unknown>) => write.then(() => undefined, explain);
  const unknownUser = newId(Date.now());
  const db = orm(database.writes);
  t.match(await refused(db.insert(posts).values({ ...post, id: newId(Date.now()), authorId: unknownUser })), {
    code: 'invalid',
    details: [{ path: '/authorId' }],
  });
  t.match(await refused(db.update(posts).set({ authorId: unknownUser })), { code: 'invalid' });
  t.match(await refused(db.delete(users)), { code: 'conflict', details: { code: 'user_has_posts' } });
  const remove = deletionOf(user);
  t.match(await refused(remove(inside(database), author.id)), { code: 'conflict' });
});

t.test('a statement timeout is not reported as an outage', async t => {
  const explained = explain(failure({ code: '57014' }));
  t.match(explained, { code: 'unavailable', message: 'The service took too long. Try again shortly.' });
});

t.test('a database that is away, full or too slow is unavailable', async t => {
  for (const code of [
    'ECONNREFUSED',
    'ECONNRESET',
    'CONNECTION_CLOSED',
    'CONNECT_TIMEOUT',
    '08006',
    '53300',
    '57P01',
    '57P03',
    // A standby at the address of the primary, not promoted yet.
    '25006',
    '25P03',
    '57014',
    '40P01',
    '40001',
  ])
    t.equal(explain(failure({ code })).code, 'unavailable', code);
});

t.test('an unexpected error is hidden from the client', async t => {
  for (const error of [
    failure({ code: '42P01' }),
    failure({ code: '23514', constraint: 'x' }),
    new Error('x'),
    'x',
    null,
  ]) {
    const explained = explain(error);
    t.equal(explained.code, 'internal');
    t.equal(explained.message, 'Internal error.');
    t.equal(explained.cause, error, 'the log gets the original error');
    t.notMatch(JSON.stringify(explained.details), /ada/);
  }
});

t.test('an AppError is returned unchanged', async t => {
  const error = notFound('User');
  t.equal(explain(error), error);
  t.ok(error instanceof AppError);
});
