import t from 'tap';
import { misspeltNames, warningAbout } from '#src/config/settingNames.ts';

t.test('a misspelt name stops the start: AUTHMODE=required is not silently ignored', async t => {
  for (const [name, meant] of [
    ['AUTHMODE', 'AUTH_MODE'],
    ['auth-mode', 'AUTH_MODE'],
    ['AUTH_MODES', 'AUTH_MODE'],
    ['DATABASEURL', 'DATABASE_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATABASE_URL_FIL', 'DATABASE_URL_FILE'],
    ['WEBHOOK_SECRET', 'WEBHOOK_SECRETS'],
  ] as const)
    t.same(misspeltNames({ [name]: 'x' }), [`${name} is not a setting: did you mean ${meant}?`]);
});

t.test('a similar name of another program is ignored when the setting itself is set', async t => {
  const url = 'postgres://u:p@h/d';
  t.same(misspeltNames({ DATABASE_URL: url, DATABASE_URI: url, AUTHMODE: '' }), []);
  t.same(misspeltNames({ DATABASE_URL_FILE: '/x', DATABASE_URI: url }), []);
});

t.test('variables of ordinary environments stop no start', async t => {
  const names = `HOME HOSTNAME HOST-NAME PATH PWD SHELL USER LOGNAME LANG LC_ALL TERM TMPDIR TZ EDITOR DISPLAY CI DEBUG
    XDG_DATA_DIRS XDG_DATA_HOME NODE_OPTIONS NODE_PATH NODE_ENVIRONMENT NODENV_ROOT NODE_EXTRA_CA_CERTS npm_config_cache
    npm_config_loglevel npm_package_name npm_lifecycle_event npm_node_execpath NPM_TOKEN INIT_CWD
    KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_PORT_443_TCP_ADDR
    REDIS_PORT REDIS_SERVICE_HOST REDIS_SERVICE_PORT REDIS_HOST POSTGRES_PORT POSTGRES_USER POSTGRES_PASSWORD TRIPORT_PORT
    TRIPORT_SERVICE_PORT_HTTP PGHOST PGDATA PGUSER PGPASSWORD PGPORT DB_PORT HTTP_PORT WEB_PORT PORTS PROT port WORKERS
    OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES OTEL_METRICS_EXPORTER OTEL_LOGS_EXPORTER OTEL_SDK_DISABLED
    OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TIMEOUT OTEL_EXPORTER_OTLP_COMPRESSION OTEL_TRACES_SAMPLER
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_PROTOCOL OTEL_PROPAGATORS LOG_FORMAT BODY_LIMIT
    STATEMENT_TIMEOUT SHUTDOWN_TIMEOUT HTTP_PROXY http_proxy NO_PROXY SSL_CERT_FILE API_KEY DOCKER_HOST MAIL SHLVL OLDPWD _`;
  t.same(misspeltNames(Object.fromEntries(names.split(/\s+/).map(name => [name, 'x']))), []);
  const serviceLink = { METRIC_PORT: 'tcp://10.0.0.1:9090' };
  t.same(misspeltNames(serviceLink), [], 'Kubernetes sets it for a service named metric');
});

t.test('one warning names everything in .env that is no setting', async t => {
  t.equal(warningAbout(['PORT', 'DATABASE_URL_FILE', 'OTEL_SERVICE_NAME']), undefined);
  t.equal(
    warningAbout(['PROT', 'PORT', 'hots', 'DB_URL', 'RATE_LIMIT', 'AUTH_MODE']),
    '.env has names that are no settings: PROT (did you mean PORT?), hots (did you mean HOST?), DB_URL, RATE_LIMIT (did you mean RATE_LIMIT_MAX?)',
  );
});
