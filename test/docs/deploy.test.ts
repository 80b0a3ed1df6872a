import { readFileSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import { Settings } from '../../schemas/settings.ts';
import { readSettings } from '../../src/config/settings.ts';
import { render } from '../rig/cluster/balancer.ts';
import { render as renderPrometheus } from '../rig/cluster/prometheus.ts';
import { deployments, type Manifest, pods, settings } from '../rig/deploy/manifests.ts';

const read = (name: string) => readFileSync(`deploy/${name}`, 'utf8');
const compose: Manifest = parse(read('compose.yaml'), { merge: true });
const isOurs = ({ image }: Manifest) => image.startsWith('triport:');

t.test('every setting in deploy exists and has a value that the service accepts', async t => {
  const services = Object.values<Manifest>(compose.services).filter(isOurs);
  t.ok(services.length >= 5);
  const image = Object.fromEntries(
    [...(/^ENV (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '').matchAll(/(\w+)=(\S+)/g)].map(
      ([, name, value]) => [name, value],
    ),
  );
  const secrets: Record<string, string> = {
    DATABASE_URL: 'postgres://a:b@c/d',
    REDIS_URL: 'redis://e',
    WEBHOOK_SECRETS: '{"stripe":["whsec_1"]}',
  };
  const all = [settings, ...services.map(({ environment }) => environment)];
  for (const environment of all) {
    const given = Object.entries<string>({ ...image, ...environment }).map(([name, value]) => {
      const setting = name.replace(/_FILE$/, '');
      t.ok(setting in Settings.properties, `${name} is a setting`);
      return [setting, name === setting ? value : secrets[setting]];
    });
    t.doesNotThrow(() => readSettings(Object.fromEntries(given)));
  }
});

t.test('secrets come from files that are mounted, and nothing secret is in the environment', t => {
  const secrets = Object.entries(Settings.properties).flatMap(([name, { secret }]) => (secret ? [name] : []));
  for (const [name, service] of Object.entries<Manifest>(compose.services)) {
    const environment = Object.entries<string>(service.environment ?? {});
    // The one without a secret in it.
    const plain = environment.filter(
      ([key, value]) => secrets.includes(key) && value !== 'redis://valkey:6379',
    );
    t.same(plain, [], name);
    const files = environment.filter(([key]) => key.endsWith('_FILE')).map(([, path]) => path);
    t.same(files.sort(), (service.secrets ?? []).map((secret: string) => `/run/secrets/${secret}`).sort());
    for (const secret of service.secrets ?? []) t.match(compose.secrets[secret].file, /^\.\/secrets\//);
  }
  t.match(readFileSync('.gitignore', 'utf8'), /^deploy\/secrets\/$/m);
  t.end();
});

t.test('every image has a version, and no container can take the machine with it', t => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  for (const [name, service] of Object.entries<Manifest>(compose.services)) {
    const [image, tag] = service.image.split(':');
    t.match(tag, /^v?\d+\.\d+(\.\d+)?(-\w+)?$/, name);
    if (image === 'triport') t.equal(tag, version);
    t.match(service, { cpus: Number, mem_limit: /^\d+[mg]$/, pids_limit: Number }, name);
    t.match(service.logging, { driver: 'json-file', options: { 'max-size': /^\d+m$/, 'max-file': /^\d+$/ } });
    t.ok(service.healthcheck, `${name} has a health check`);
    t.match(service, { cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }, name);
  }
  t.end();
});

t.test('containers do not run as root and cannot write', async t => {
  t.match(read('Dockerfile'), /^USER node$/m);
  for (const [name, service] of Object.entries<Manifest>(compose.services))
    if (isOurs(service) || name === 'balancer')
      t.match(service, { read_only: true, cap_drop: ['ALL'] }, name);
});

t.test('commands refer to what exists', async t => {
  const commands = [
    ...Object.values<Manifest>(compose.services).map(({ command }) => command),
    ...pods.flatMap(({ containers }) => containers.map(({ command }: Manifest) => command)),
  ];
  const scripts = commands.flatMap(command => command ?? []).filter((part: string) => part.endsWith('.ts'));
  t.same(new Set(scripts), new Set(['src/worker.ts', 'scripts/migrate.ts']));
  for (const script of scripts) t.ok(readFileSync(script));
});

t.test('a container has the time to shut down before it is killed', async t => {
  const usual = readSettings({}).REQUEST_TIMEOUT;
  for (const { image, stop_grace_period: time, environment } of Object.values<Manifest>(compose.services))
    if (isOurs({ image }))
      t.ok(Number.parseInt(time, 10) > Number(environment.DRAIN_SECONDS) + usual + 3, time);
});

t.test('both balancers list the servers of the compose file', async t => {
  const servers = Object.keys(compose.services).filter(name => /^server\d$/.test(name));
  const balancer = compose.services.balancer.networks.edge.ipv4_address;
  for (const name of servers) {
    t.equal(compose.services[name].environment.TRUST_PROXY, balancer);
    for (const file of ['nginx.conf', 'haproxy.cfg']) t.match(read(file), new RegExp(`${name}:3000`), file);
  }
  const addresses = servers.map(name => compose.services[name].networks.edge.ipv4_address);
  t.equal(new Set([...addresses, balancer]).size, servers.length + 1);
  const hosts = servers.map((name, i) => `${name}:${addresses[i]}`);
  t.same(compose.services.balancer.extra_hosts, hosts, 'nginx finds the address of a server that is down');
});

t.test('Prometheus scrapes every server and worker, and loads the alerts', async t => {
  const { scrape_configs: jobs, rule_files } = parse(read('prometheus.yml'));
  t.same(rule_files, ['alerts.yml']);
  const [{ static_configs, dns_sd_configs }] = jobs;
  const services = Object.entries<Manifest>(compose.services).filter(([name]) =>
    /^(server|worker)/.test(name),
  );
  const targets = services.map(([name, { environment }]) => `${name}:${environment.METRICS_PORT}`);
  const [{ names, port }] = dns_sd_configs;
  t.same([...static_configs[0].targets, `${names[0]}:${port}`].sort(), targets.sort());
  for (const volume of compose.services.prometheus.volumes.slice(0, 2))
    t.ok(read(volume.split(':')[0].replace('./', '')));
  for (const { spec } of deployments) {
    const { metadata, spec: pod } = spec.template;
    t.equal(metadata.annotations['prometheus.io/port'], settings.METRICS_PORT);
    t.match(pod.containers[0].ports.at(-1), {
      name: 'metrics',
      containerPort: Number(settings.METRICS_PORT),
    });
  }
  const [{ job_name, static_configs: parts }] = JSON.parse(
    renderPrometheus(new Map([['server1', 9001]])),
  ).scrape_configs;
  t.equal(job_name, jobs[0].job_name);
  t.same(parts, [{ targets: ['127.0.0.1:9001'], labels: { instance: 'server1' } }]);
});

t.test('a local cluster changes only the addresses in these files', async t => {
  for (const kind of ['nginx', 'haproxy'] as const) {
    const options = { kind, folder: '/place', port: 8000, servers: [8001, 8002, 8003] };
    const text = render(options);
    for (const port of [8000, 8001, 8002, 8003]) t.match(text, new RegExp(`127\\.0\\.0\\.1:${port}\\b`));
    t.notMatch(text, /server\d:3000|8080|\/run\//);
    t.equal(
      text.split('\n').length,
      read(kind === 'nginx' ? 'nginx.conf' : 'haproxy.cfg').split('\n').length,
    );
  }
  const options = { kind: 'nginx' as const, folder: '/place', port: 8000, servers: [8001, 8002, 8003] };
  t.match(render(options, [1]), /8002 .* down;/);
  t.equal([...render(options, [1]).matchAll(/ down;/g)].length, 1);
  for (const kind of ['nginx', 'haproxy'] as const)
    t.notMatch(render({ ...options, kind, servers: [8001] }), /undefined|server[23]/, 'with fewer servers');
});
