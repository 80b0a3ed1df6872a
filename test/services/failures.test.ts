import { DrizzleQueryError } from 'drizzle-orm';
import t from 'tap';
import { AppError, notFound } from '../../src/core/errors.ts';
import { explain } from '../../src/services/failures.ts';

/** An error as the query builder wraps the one of a driver. */
const failure = (members: object) =>
  new DrizzleQueryError('insert', ['ada@example.com'], Object.assign(new Error('x'), members));

t.test('a constraint that refuses a write has a meaning, with either driver', async t => {
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

t.test('a server that is away, full or too slow is unavailable', async t => {
  for (const code of [
    'ECONNREFUSED',
    'ECONNRESET',
    'CONNECTION_CLOSED',
    'CONNECT_TIMEOUT',
    '08006',
    '53300',
    '57P01',
    '57P03',
    // A standby where the primary was, before it is promoted.
    '25006',
    '25P03',
    '57014',
    '40P01',
    '40001',
  ])
    t.equal(explain(failure({ code })).code, 'unavailable', code);
});

t.test('what is not understood stays inside', async t => {
  for (const error of [
    failure({ code: '42P01' }),
    failure({ code: '23514', constraint: 'x' }),
    new Error('x'),
    'x',
    null,
  ]) {
    const told = explain(error);
    t.equal(told.code, 'internal');
    t.equal(told.message, 'Internal error.');
    t.equal(told.cause, error, 'and whole for the log');
    t.notMatch(JSON.stringify(told.details), /ada/);
  }
});

t.test('an error that callers know already stays what it is', async t => {
  const error = notFound('User');
  t.equal(explain(error), error);
  t.ok(error instanceof AppError);
});
