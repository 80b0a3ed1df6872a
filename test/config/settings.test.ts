import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readSettings, SettingsError } from '../../src/config/settings.ts';
import { shutdownTimeouts, statementTimeout } from '../../src/config/timeouts.ts';
import { trustedProxies } from '../../src/config/trustedProxies.ts';
import { checkTraces, wantsTraces } from '../../src/process/traces.ts';

/** The lines of the message that stops the start. */
function problems(env: Record<string, string>): string[] {
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

t.test('without any variable every setting has its default', async t => {
  t.match(readSettings({}), {
    NODE_ENV: 'development',
    PORT: 3000,
    HOST: '127.0.0.1',
    DATA_DIR: './data',
    LOG_LEVEL: 'info',
    RATE_LIMIT_WINDOW: 60,
    TRUST_PROXY: '',
  });
  t.equal(readSettings({}).DATABASE_URL, undefined);
  t.equal(readSettings({}).AUTH_MODE, undefined);
  t.equal(readSettings({}).RATE_LIMIT_MAX, undefined, 'keys and addresses have limits of their own');
});

t.test('an empty variable counts as absent', async t => {
  const empty = {
    PORT: '',
    DATABASE_URL: '',
    DATABASE_URL_FILE: '',
    AUTH_MODE: '',
    LOG_LEVEL: '',
    DATA_DIR: '',
  };
  t.same(readSettings(empty), readSettings({}));
  t.match(problems({ NODE_ENV: 'production', AUTH_MODE: '' }), [/^AUTH_MODE must be set in production/]);
});

t.test('numbers become numbers, strings stay strings', async t => {
  const settings = readSettings({ PORT: '0', RATE_LIMIT_MAX: '1000000000', DATA_DIR: '7' });
  t.match(settings, { PORT: 0, RATE_LIMIT_MAX: 1_000_000_000, DATA_DIR: '7' });
});

t.test('unrelated environment variables are ignored', async t => {
  t.same(readSettings({ PATH: '/bin', PORTS: '1', __proto__: 'x' }), readSettings({}));
});

t.test('a misspelt name stops the start', async t => {
  t.same(problems({ AUTHMODE: 'required' }), ['AUTHMODE is not a setting: did you mean AUTH_MODE?']);
});

t.test('one message lists every bad value', async t => {
  t.same(
    problems({
      NODE_ENV: 'prod',
      PORT: '65536',
      LOG_LEVEL: 'loud',
      AUTH_MODE: 'none',
      DATABASE_POOL_SIZE: '0',
      RATE_LIMIT_MAX: '1e3',
      TRUST_PROXY: 'yes',
    }).toSorted(),
    [
      'AUTH_MODE must be one of "open", "required"',
      'DATABASE_POOL_SIZE must be a whole number from 1 to 100',
      'LOG_LEVEL must be one of "trace", "debug", "info", "warn", "error", "fatal", "silent"',
      'NODE_ENV must be one of "development", "production", "test"',
      'PORT must be a whole number from 0 to 65535',
      'RATE_LIMIT_MAX must be a whole number from 1 to 1000000000',
      'TRUST_PROXY must be a number of hops, or addresses (also with a /prefix) separated by commas',
    ],
  );
});

t.test('an invalid number stops the start', async t => {
  for (const value of [
    'abc',
    '3000x',
    '0x10',
    '3000.5',
    ' 3000',
    '-1',
    '1e3',
    'Infinity',
    '99999999999999999999',
  ])
    t.same(problems({ PORT: value }), ['PORT must be a whole number from 0 to 65535'], value);
});

t.test('a database URL must be one of PostgreSQL, and is not repeated in the message', async t => {
  t.equal(readSettings({ DATABASE_URL: 'postgresql://u:p@h/d' }).DATABASE_URL, 'postgresql://u:p@h/d');
  for (const url of ['mysql://u:hidden@h/d', 'localhost/hidden', '/hidden']) {
    const lines = problems({ DATABASE_URL: url });
    t.match(lines, [/^DATABASE_URL /]);
    t.notMatch(lines.join(), /hidden/);
  }
});

t.test('production requires an explicit AUTH_MODE', async t => {
  t.same(problems({ NODE_ENV: 'production' }), [
    'AUTH_MODE must be set in production: `open` lets anyone read and write',
  ]);
  t.equal(readSettings({ NODE_ENV: 'production', AUTH_MODE: 'open' }).AUTH_MODE, 'open');
});

t.test('a secret can come from a file', async t => {
  const folder = t.testdir({ url: 'postgres://u:p@h/d\n', empty: '\n' });
  const path = join(folder, 'url');
  t.equal(readSettings({ DATABASE_URL_FILE: path }).DATABASE_URL, 'postgres://u:p@h/d');
  t.equal(readSettings({ DATABASE_URL: '', DATABASE_URL_FILE: path }).DATABASE_URL, 'postgres://u:p@h/d');

  t.same(problems({ DATABASE_URL_FILE: path, DATABASE_URL: 'postgres://other' }), [
    'DATABASE_URL and DATABASE_URL_FILE are both set: keep one',
  ]);
  t.match(problems({ DATABASE_URL_FILE: join(folder, 'absent') }), [
    /^DATABASE_URL_FILE cannot be read: ENOENT/,
  ]);
  t.match(problems({ DATABASE_URL_FILE: folder }), [/^DATABASE_URL_FILE cannot be read: EISDIR/]);
  t.match(
    problems({ DATABASE_URL_FILE: join(folder, 'empty') }),
    ['DATABASE_URL_FILE is an empty file'],
    'a failed mount must not select the embedded database',
  );
  writeFileSync(path, 'mysql://hidden');
  t.notMatch(problems({ DATABASE_URL_FILE: path }).join(), /hidden/);
});

t.test('proxies are trusted by number of hops or by address, and never blindly', async t => {
  t.equal(trustedProxies(''), false);
  t.equal(trustedProxies('0'), false);
  const hops = trustedProxies('2');
  t.same(typeof hops === 'function' && [0, 1, 2].map(hop => hops('10.0.0.1', hop)), [true, true, false]);
  t.same(trustedProxies('10.0.0.1, 10.1.0.0/16,::1,fd00::/8'), [
    '10.0.0.1',
    '10.1.0.0/16',
    '::1',
    'fd00::/8',
  ]);
  for (const text of [
    'true',
    '*',
    '-1',
    '100',
    '1.5',
    '10.0.0',
    '10.0.0.1/33',
    '::1/129',
    'a,b',
    ',',
    '10.0.0.1,',
    '1/2/3',
    'loopback',
  ])
    t.equal(trustedProxies(text), undefined, text);
});

t.test('replicas require the settings they depend on', async t => {
  const url = 'postgres://a@b/c';
  const complete = {
    DATABASE_URL: url,
    DATABASE_REPLICA_URLS: `${url}, ${url}`,
    REDIS_URL: 'redis://d',
  };
  t.same(problems(complete), []);
  t.match(problems({ ...complete, DATABASE_URL: '' }), [
    /^DATABASE_REPLICA_URLS has no effect without DATABASE_URL/,
  ]);
  t.match(problems({ ...complete, REDIS_URL: '' }), [/^REDIS_URL must be set with DATABASE_REPLICA_URLS/]);
  t.match(problems({ ...complete, DATABASE_REPLICA_URLS: `${url},mysql://x` }), [
    /^DATABASE_REPLICA_URLS must be/,
  ]);
});

t.test('metrics have a port of their own, or none', async t => {
  t.same(problems({ METRICS_PORT: '3000' }), [
    'METRICS_PORT must differ from PORT: leave it out to have /metrics there',
  ]);
  t.equal(readSettings({ METRICS_PORT: '9464' }).METRICS_PORT, 9464);
});

t.test('traces are exported when an endpoint is set, unless they are turned off', async t => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
  t.notOk(wantsTraces({}));
  t.ok(wantsTraces({ OTEL_EXPORTER_OTLP_ENDPOINT }));
  t.ok(wantsTraces({ OTEL_TRACES_EXPORTER: 'otlp' }));
  t.ok(wantsTraces({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: '' }));
  t.notOk(wantsTraces({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }));
});

t.test('a trace exporter other than JSON over HTTP stops the start', async t => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317' };
  t.throws(() => checkTraces({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), /must be http\/json/);
  t.throws(() => checkTraces({ OTEL_TRACES_EXPORTER: 'console' }), /must be otlp or none/);
  checkTraces({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' });
  checkTraces({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
});

t.test('a statement times out before its handler, and the process exits within 10 s of SIGTERM', async t => {
  t.equal(statementTimeout(readSettings({})), 6000);
  t.equal(statementTimeout(readSettings({ REQUEST_TIMEOUT: '2' })), 1500);
  t.ok(shutdownTimeouts(readSettings({})).exit < 10_000);
});

t.test('a URL that no driver can use stops the start, and is not repeated in the message', async t => {
  for (const rest of [
    'u:hidden@h:99999/d',
    'u:hid%zzden@h/d',
    'u:hidden@h:port/d',
    'u:hidden@[::/d',
    'u@a:1,b:2/hidden',
  ])
    for (const [name, scheme] of [
      ['DATABASE_URL', 'postgres'],
      ['REDIS_URL', 'redis'],
    ] as const) {
      const lines = problems({ [name]: `${scheme}://${rest}` });
      t.match(lines, [new RegExp(`^${name} must be a URL of one host`)], rest);
      t.notMatch(lines.join(), /hid/);
    }
  for (const url of [
    'postgres://',
    'postgres:///d?host=/run',
    'postgresql://u:p%40@[::1]:5432/d?sslmode=require',
  ])
    t.same(problems({ DATABASE_URL: url }), [], url);
});
