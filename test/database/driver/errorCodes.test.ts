import t from 'tap';
import { databaseFailure, isOutage } from '../../../src/database/databaseErrors.ts';

const failed = (code: string) => Object.assign(new Error('failed'), { code });

t.test('an unreachable server is an outage, whatever the driver calls it', async t => {
  for (const code of [
    'CONNECTION_CLOSED',
    'CONNECTION_ENDED',
    'CONNECT_TIMEOUT',
    'ECONNREFUSED',
    'ECONNRESET',
    // Five capitals, like an SQLSTATE. It occurs when a statement is written to a server that crashes.
    'EPIPE',
    // A name server that does not answer (yet), as when containers start together.
    'EAI_AGAIN',
    'ENOTFOUND',
    '57P01',
    '57P03',
    // A standby where the primary was, before it is promoted.
    '25006',
    '25P03',
    '53300',
    '57014',
  ]) {
    const failure = databaseFailure(new Error('Failed query', { cause: failed(code) }));
    t.equal(failure && isOutage(failure), true, code);
  }
});

t.test('bug: a node of Citus that lost another one was an internal error', async t => {
  for (const message of [
    'SSL SYSCALL error: EOF detected',
    'server closed the connection unexpectedly\n\tThis…',
  ]) {
    const failure = databaseFailure(Object.assign(new Error(message), { code: 'XX000' }));
    t.equal(failure && isOutage(failure), true, message);
  }
});

t.test('a refusal or a mistake is not an outage', async t => {
  for (const code of ['23505', '28P01', '3D000', '42P01', 'P0001', 'XX000']) {
    const failure = databaseFailure(failed(code));
    t.equal(failure && isOutage(failure), false, code);
  }
  t.equal(databaseFailure(failed('UNDEFINED_VALUE')), undefined);
});
