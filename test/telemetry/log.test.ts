import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { DrizzleQueryError } from '#drizzle/orm.ts';
import { describeError, type Log, openLog } from '#src/telemetry/log.ts';

async function linesOf(level: 'info' | 'warn', terminal: boolean, write: (log: Log) => void) {
  const stream = new PassThrough();
  write(openLog({ LOG_LEVEL: level }, terminal, stream));
  await setImmediate();
  return String(stream.read() ?? '')
    .split('\n')
    .filter(Boolean);
}

t.test('on a terminal, a request is one line, and so is a message', async t => {
  const time = /^\d\d:\d\d:\d\d /;
  const lines = await linesOf('info', true, log => {
    const request = { reqId: 'one', method: 'GET', path: '/api/users', status: 200, ms: 1.5, address: '::1' };
    log.info(request, 'answered');
    log.info({ ...request, method: 'DELETE', status: 499 }, 'client left');
    log.info('hello');
    log.warn({ a: { b: [1] } }, 'careful');
    log.debug('not this');
  });
  for (const line of lines) t.match(line, time);
  t.same(
    lines.map(line => line.replace(time, '')),
    [
      'GET    /api/users 200 1.5 ms',
      'DELETE /api/users 499 1.5 ms client left',
      'hello',
      'WARN careful {"a":{"b":[1]}}',
    ],
  );
});

t.test('on a terminal, an error has its stack and those of its causes', async t => {
  const text = (
    await linesOf('info', true, log => log.error({ err: failedStatement('ada@example.com') }, 'It failed.'))
  ).join('\n');
  t.match(
    text,
    /ERROR It failed\.\n.*Failed query: insert into[\s\S]*\n +at [\s\S]*caused by\n.*duplicate key/,
  );
  t.notMatch(text, /ada@/);
});

t.test('on a terminal, nothing of a message or an error is obeyed as a command to it', async t => {
  const hostile = '\x1b[2Jgone\x9b31m\u202e';
  const lines = await linesOf('info', true, log => {
    log.info(hostile);
    log.warn({ customer: hostile }, 'careful');
    log.error({ err: new Error(hostile, { cause: new Error(hostile) }) }, 'It failed.');
  });
  t.equal(lines.filter(line => line.includes('gone')).length, 4);
  t.notMatch(lines.join(), /[\p{Cc}\u202e]/u);
});

t.test('elsewhere, a line is JSON from its level on, and such a text is an escape in it', async t => {
  const hostile = '\x1b[2Jgone\x9b31m\x7f\u202e\u2028 \n ö';
  const [line = '', ...others] = await linesOf('warn', false, log => {
    log.info('below the level');
    log.warn({ type: hostile }, hostile);
  });
  t.same(others, []);
  t.notMatch(line, /[\p{Cc}\u202e\u2028]/u);
  t.match(JSON.parse(line), { type: hostile, msg: hostile });
});

/** An error as the driver and the query builder make it. */
function failedStatement(value: string) {
  const cause = Object.assign(new Error('duplicate key value violates unique constraint "users_email_key"'), {
    code: '23505',
    detail: `Key (lower(email))=(${value}) already exists.`,
    constraint_name: 'users_email_key',
    table_name: 'users',
    parameters: [value],
    where: `unnamed portal parameter $1 = '${value}'`,
  });
  return new DrizzleQueryError('insert into "users" values ($1)', [value], cause);
}

t.test('a failed statement is described by its text, its constraint and its stack', async t => {
  t.match(describeError(failedStatement('x')), {
    type: 'DrizzleQueryError',
    message: 'Failed query: insert into "users" values ($1)',
    query: 'insert into "users" values ($1)',
    stack: /\n +at .*log\.test\.ts/,
    cause: { code: '23505', constraint: 'users_email_key', table: 'users', message: /duplicate key/ },
  });
});

t.test('the values of a failed statement are left out, whatever they look like', async t => {
  for (const value of [
    'ada@example.com',
    'x\nparams: ada@example.com',
    'x\n    at ada@example.com (a.ts:1:1)',
    '$&ada@example.com',
  ])
    t.notMatch(JSON.stringify(describeError(failedStatement(value))), /ada@/, value);
  const message = 'invalid input syntax for type integer: "ada@\n"example.com""';
  const described = describeError(Object.assign(new Error(message), { code: '22P02' }));
  t.match(described, { code: '22P02', message: 'invalid input syntax for type integer: "…"' });
  t.notMatch(described.stack, /ada@/);
});

t.test('a thrown value that is not an error is described too', async t => {
  t.same(describeError('text'), { message: 'text' });
  t.same(describeError(undefined), { message: 'undefined' });
  t.match(describeError(new TypeError('', { cause: 'why' })), {
    type: 'TypeError',
    cause: { message: 'why' },
  });
});
