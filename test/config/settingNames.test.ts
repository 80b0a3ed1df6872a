import t from 'tap';
import { unknownNames as problems } from '../../src/config/settingNames.ts';

t.test(
  'a name that looks like a setting stops the start: AUTHMODE=required is not silently ignored',
  async t => {
    for (const [name, meant] of [
      ['AUTHMODE', 'AUTH_MODE'],
      ['auth-mode', 'AUTH_MODE'],
      ['AUTH_MODES', 'AUTH_MODE'],
      ['AUHT_MODE', undefined],
      ['DATABASEURL', 'DATABASE_URL'],
      ['DATABASE_URI', 'DATABASE_URL'],
      ['DATABASE_URL_FIL', 'DATABASE_URL_FILE'],
      ['port', undefined],
      ['WEBHOOK_SECRET', 'WEBHOOK_SECRETS'],
      ['OTEL_EXPORTER_OTLP_ENDPOIN', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    ] as const)
      t.same(
        problems({ [name]: 'x' }),
        meant ? [`${name} is not a setting: did you mean ${meant}?`] : [],
        name,
      );
    t.same(problems({ PORT_FILE: '/x' }), ['PORT_FILE is not read: only secrets can be given as files']);
  },
);

t.test('a similar name of another program is ignored when the setting itself is set', async t => {
  const url = 'postgres://u:p@h/d';
  t.same(problems({ DATABASE_URL: url, DATABASE_URI: url, AUTHMODE: '', PORT: '1', PORT_FILE: '/x' }), []);
});

t.test('variables of ordinary environments are not taken for misspelt settings', async t => {
  const names = `HOME HOSTNAME HOST-NAME PATH PWD SHELL USER LOGNAME LANG LC_ALL TERM TMPDIR TZ EDITOR DISPLAY CI DEBUG
    XDG_DATA_DIRS XDG_DATA_HOME NODE_OPTIONS NODE_PATH NODE_ENVIRONMENT NODENV_ROOT NODE_EXTRA_CA_CERTS npm_config_cache
    npm_config_loglevel npm_package_name npm_lifecycle_event npm_node_execpath NPM_TOKEN INIT_CWD
    KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_PORT_443_TCP_ADDR
    REDIS_PORT REDIS_SERVICE_HOST REDIS_SERVICE_PORT REDIS_HOST POSTGRES_PORT POSTGRES_USER POSTGRES_PASSWORD TRIPORT_PORT
    TRIPORT_SERVICE_PORT_HTTP PGHOST PGDATA PGUSER PGPASSWORD PGPORT DB_PORT HTTP_PORT WEB_PORT PORTS WORKERS
    OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES OTEL_METRICS_EXPORTER OTEL_LOGS_EXPORTER OTEL_SDK_DISABLED
    OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TIMEOUT OTEL_EXPORTER_OTLP_COMPRESSION OTEL_TRACES_SAMPLER
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_PROTOCOL OTEL_PROPAGATORS
    HTTP_PROXY http_proxy NO_PROXY SSL_CERT_FILE API_KEY DOCKER_HOST MAIL SHLVL OLDPWD _ COLUMNS`;
  t.same(problems(Object.fromEntries(names.split(/\s+/).map(name => [name, 'x']))), []);
  t.same(
    problems({ METRIC_PORT: 'tcp://10.0.0.1:9090' }),
    [],
    'Kubernetes sets it for a service named metric',
  );
});

t.test('names in .env are matched more loosely, because other programs rarely read it', async t => {
  for (const [name, meant] of [
    ['PROT', 'PORT'],
    ['port', 'PORT'],
    ['HOTS', 'HOST'],
    ['AUHT_MODE', 'AUTH_MODE'],
    ['WEBHOOK_RETRYS', 'WEBHOOK_RETRIES'],
  ] as const) {
    t.same(problems({ [name]: 'x' }, [name]), [`${name} is not a setting: did you mean ${meant}?`]);
    t.same(problems({ [name]: 'x' }), [], 'elsewhere it may belong to another program');
  }
  const others =
    `API_KEY TZ NODE_OPTIONS PGHOST PGPASSWORD POSTGRES_PASSWORD OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_HEADERS
    OTEL_EXPORTER_OTLP_PROTOCOL OTEL_TRACES_EXPORTER HTTPS_PROXY`.split(/\s+/);
  t.same(problems(Object.fromEntries(others.map(name => [name, 'x'])), others), []);
});

t.test('a removed setting stops the start: a limit that someone relies on would not apply', async t => {
  t.same(problems({ STATEMENT_TIMEOUT: '5', BODY_LIMIT: '1000', HANDLER_TIMEOUT: '' }), [
    'STATEMENT_TIMEOUT is no longer a setting: REQUEST_TIMEOUT sets it',
    'BODY_LIMIT is no longer a setting: its value is fixed',
  ]);
  t.same(problems({ LOG_FORMAT: 'json' }), [], 'platforms set it for all their containers');
});
