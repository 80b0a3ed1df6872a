import t from 'tap';
import { DrizzleQueryError } from '../../drizzle/orm.ts';
import { explain } from '../../src/services/refusals.ts';

/** A driver error as the query builder wraps it. */
const failure = (members: object) =>
  new DrizzleQueryError('insert', ['ada@example.com'], Object.assign(new Error('x'), members));

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
