// runs: in its own process
import t from 'tap';
import { databaseFailure, isDenied, isOutage, reasonForLog } from '#src/database/databaseErrors.ts';

const failed = (code: string, message = 'failed') => Object.assign(new Error(message), { code });
const isOutageOf = (error: Error) => isOutage(new Error('Failed query', { cause: error }));

t.test('an unreachable server is an outage, whatever the driver calls it', async t => {
  // EPIPE looks like an SQLSTATE: a statement was written to a server that crashed. EAI_AGAIN means that a name server
  // does not answer (yet), as when containers start together; 25006 means a standby that is not promoted yet.
  const ofConnections = 'CONNECTION_CLOSED CONNECTION_ENDED CONNECT_TIMEOUT ECONNREFUSED ECONNRESET EPIPE';
  const codes = `${ofConnections} EAI_AGAIN ENOTFOUND 57P01 57P03 28P01 3D000 25006 25P03 53300 57014 08006 40P01 40001`;
  for (const code of codes.split(' ')) t.equal(isOutageOf(failed(code)), true, code);
  // Bug: the failure of a Citus node that had lost another node was an internal error.
  for (const text of [
    'SSL SYSCALL error: EOF detected',
    'server closed the connection unexpectedly\n\tThis…',
  ])
    t.equal(isOutageOf(failed('XX000', text)), true, text);
});

t.test('the log has the reason of an outage, and no stack', async t => {
  for (const code of ['57P01', '25006', '58030'])
    t.same(reasonForLog(failed(code)), { reason: 'The database cannot be used: failed.' }, code);
});

t.test('a refusal or a mistake is not an outage', async t => {
  for (const code of ['23505', '42P01', 'P0001', 'XX000']) t.equal(isOutageOf(failed(code)), false, code);
  t.equal(databaseFailure(failed('UNDEFINED_VALUE')), undefined);
  for (const code of ['28P01', '3D000']) t.equal(isDenied(failed(code)), true, 'at a start, a mistake');
  t.equal(isDenied(failed('53300')), false);
});
