import { join } from 'node:path';
import t from 'tap';
import { type Environment, readSettings, SettingsError } from '#src/config/settings.ts';
import { statementTimeout } from '#src/config/timeouts.ts';
import { trustedProxies } from '#src/config/trustedProxies.ts';
import { startTraces } from '#src/process/traces.ts';

/** The problems that stop the start. */
function problems(env: Environment): string[] {
  try {
    readSettings(env);
    return [];
  } catch (error) {
    t.ok(error instanceof SettingsError);
    const [first, ...lines] = (error as Error).message.split('\n');
    t.equal(first, 'The service cannot start because of its settings:');
    return lines.map(line => line.replace('  - ', ''));
  }
}

t.test('an empty variable counts as absent, and absent ones have their defaults', async t => {
  const given = readSettings({ PORT: '', DATABASE_URL: '', DATABASE_URL_FILE: '', AUTH_MODE: '' });
  t.match(given, { PORT: 3000, HOST: '127.0.0.1', RATE_LIMIT_WINDOW: 60 });
  for (const name of ['DATABASE_URL', 'AUTH_MODE', 'RATE_LIMIT_MAX'] as const)
    t.equal(given[name], undefined);
});

t.test('numbers become numbers, strings stay strings, and other variables are ignored', async t => {
  const env = { PORT: '0', RATE_LIMIT_MAX: '1000000000', DATA_DIR: '7', PATH: '/bin', __proto__: 'x' };
  t.same(readSettings(env), {
    ...readSettings({}),
    PORT: 0,
    RATE_LIMIT_MAX: 1_000_000_000,
    DATA_DIR: '7',
  });
});

t.test('one message lists every problem', async t => {
  const wrong = {
    NODE_ENV: 'prod',
    PORT: '65536',
    LOG_LEVEL: 'loud',
    AUTHMODE: 'required',
    DATABASE_POOL_SIZE: '0',
    RATE_LIMIT_MAX: '1e3',
    TRUST_PROXY: 'yes',
  };
  t.same(problems(wrong).toSorted(), [
    'AUTHMODE is not a setting: did you mean AUTH_MODE?',
    'DATABASE_POOL_SIZE must be a whole number from 1 to 100',
    'LOG_LEVEL must be one of "trace", "debug", "info", "warn", "error", "fatal", "silent"',
    'NODE_ENV must be one of "development", "production", "test"',
    'PORT must be a whole number from 0 to 65535',
    'RATE_LIMIT_MAX must be a whole number from 1 to 1000000000',
    'TRUST_PROXY must be a number of hops, or addresses (also with a /prefix) separated by commas',
  ]);
  for (const value of ['abc', '3000x', '0x10', '3000.5', ' 3000', '-1', 'Infinity', '99999999999999999999'])
    t.same(problems({ PORT: value }), ['PORT must be a whole number from 0 to 65535'], value);
});

const jwks = {
  AUTH_MODE: 'required',
  AUTH_JWKS_URL: 'https://issuer.example/jwks',
  AUTH_ISSUER: 'https://issuer.example',
  AUTH_AUDIENCE: 'triport',
};

t.test('settings that contradict each other stop the start', async t => {
  for (const env of [
    jwks,
    { ...jwks, AUTH_JWKS_URL: 'http://127.0.0.1:9/jwks' },
    { NODE_ENV: 'production', AUTH_MODE: 'open' },
    { CORS_ORIGINS: 'https://a.example, http://localhost:5173' },
    { CORS_ORIGINS: '*' },
    { METRICS_PORT: '9464' },
  ])
    t.same(problems(env), []);
  for (const [env, ...expected] of [
    [{ NODE_ENV: 'production', AUTH_MODE: '' }, /^AUTH_MODE must be set in production/],
    [{ ...jwks, AUTH_ISSUER: '', AUTH_AUDIENCE: '' }, /^AUTH_ISSUER must be/, /^AUTH_AUDIENCE must be/],
    [{ AUTH_ISSUER: 'x' }, /^AUTH_ISSUER has no effect without AUTH_JWKS_URL/],
    [{ ...jwks, AUTH_MODE: 'open' }, /no effect unless AUTH_MODE is `required`/],
    [{ ...jwks, AUTH_JWKS_URL: 'http://issuer.example/jwks' }, /must be https/],
    [{ ...jwks, AUTH_JWKS_URL: 'http://localhost.evil.example/' }, /must be https/],
    [{ ...jwks, AUTH_JWKS_URL: 'https://' }, /must be a URL/],
    [{ ...jwks, AUTH_JWKS_URL: 'https://a:b@issuer.example/' }, /no user and no password/],
    [{ WORKER: 'apart' }, /^WORKER=apart requires DATABASE_URL/],
    [{ METRICS_PORT: '3000' }, /^METRICS_PORT must differ from PORT/],
    ...['https://a.example/', 'a.example', 'null', 'https://*.example.com', 'ftp://a.example'].map(
      CORS_ORIGINS => [{ CORS_ORIGINS }, /is no origin/] as const,
    ),
    [{ CORS_ORIGINS: '*,https://a.example' }, /not both/],
  ] as [Environment, ...RegExp[]][])
    t.match(problems(env), expected, JSON.stringify(env));
});

t.test('a URL that no driver can use stops the start, and is not repeated in the message', async t => {
  for (const rest of ['u:hidden@h:99999/d', 'u:hid%zzden@h/d', 'u:hidden@[::/d', 'u@a:1,b:2/hidden'])
    for (const [name, scheme] of [
      ['DATABASE_URL', 'postgres'],
      ['REDIS_URL', 'redis'],
    ] as const) {
      const [line = ''] = problems({ [name]: `${scheme}://${rest}` });
      t.match(line, `${name} must be a URL of one host`, rest);
      t.notMatch(line, /hid/);
    }
  for (const wrong of ['mysql://u:hidden@h/d', 'localhost/hidden', '/hidden'])
    t.match(problems({ DATABASE_URL: wrong }), [/^DATABASE_URL (?!.*hidden)/]);
  for (const usable of ['postgres://', 'postgres:///d?host=/run', 'postgresql://u:p%40@[::1]:5432/d?a=b'])
    t.same(problems({ DATABASE_URL: usable }), [], usable);
});

t.test('a secret can come from a file', async t => {
  const folder = t.testdir({ url: 'postgres://u:p@h/d\n', empty: '\n', wrong: 'mysql://hidden' });
  const file = (name: string) => ({ DATABASE_URL_FILE: join(folder, name) });
  t.equal(readSettings({ ...file('url'), DATABASE_URL: '' }).DATABASE_URL, 'postgres://u:p@h/d');
  for (const [env, expected] of [
    [
      { ...file('url'), DATABASE_URL: 'postgres://a@b/c' },
      'DATABASE_URL and DATABASE_URL_FILE are both set: keep one',
    ],
    [file('absent'), /^DATABASE_URL_FILE cannot be read: ENOENT/],
    [file('.'), /^DATABASE_URL_FILE cannot be read: EISDIR/],
    // A failed mount must not select the embedded database.
    [file('empty'), 'DATABASE_URL_FILE is an empty file'],
    [file('wrong'), /^DATABASE_URL must (?!.*hidden)/],
  ] as [Environment, string | RegExp][])
    t.match(problems(env)[0], expected);
});

t.test('proxies are trusted by number of hops or by address, and never blindly', async t => {
  t.equal(trustedProxies(''), false);
  t.equal(trustedProxies('0'), false);
  const hops = trustedProxies('2');
  t.same(typeof hops === 'function' && [0, 1, 2].map(hop => hops('10.0.0.1', hop)), [true, true, false]);
  const addresses = ['10.0.0.1', '10.1.0.0/16', '::1', 'fd00::/8'];
  t.same(trustedProxies(addresses.join(', ')), addresses);
  for (const text of 'true * -1 100 1.5 10.0.0 10.0.0.1/33 ::1/129 a,b , 10.0.0.1, 1/2/3 loopback'.split(' '))
    t.equal(trustedProxies(text), undefined, text);
});

t.test('traces that cannot be exported as the environment says stop the start', async t => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
  const grpc = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  await t.rejects(startTraces({ OTEL_EXPORTER_OTLP_ENDPOINT, ...grpc }), /must be http\/json/);
  await t.rejects(startTraces({ OTEL_TRACES_EXPORTER: 'otlp', ...grpc }), /must be http\/json/);
  await t.rejects(startTraces({ OTEL_TRACES_EXPORTER: 'console' }), /must be otlp or none/);
  await startTraces(grpc);
  await startTraces({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: 'none', ...grpc });
});

t.test('a statement times out before its handler', async t => {
  t.equal(statementTimeout(readSettings({})), 6000);
  t.equal(statementTimeout(readSettings({ REQUEST_TIMEOUT: '2' })), 1500);
});
