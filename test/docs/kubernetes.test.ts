import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import * as deploy from '#test/rig/deploy/manifests.ts';
import { has } from '#test/rig/openCluster.ts';
import { makeFolder } from '#test/rig/process.ts';

const { deployments, kustomization, manifests, ofKind, pods, settings } = deploy;
type Manifest = deploy.Manifest;

/** Returns what the types of Kubernetes refuse: members that do not exist, wrong types, and missing members. */
function problemsOf(given: Manifest[]): string[] {
  // The folders of the types are the groups of the API; the group of `v1` has no name, and its folder is `core`.
  const groupOf = (version: string) => (version === 'v1' ? 'core/v1' : version.replace('.k8s.io', ''));
  const text = given.map(
    (manifest, i) =>
      `export const _${i}: import('kubernetes-types/${groupOf(manifest.apiVersion)}').${manifest.kind} = ${JSON.stringify(manifest)};`,
  );
  const cwd = makeFolder(t);
  symlinkSync(resolve('node_modules'), join(cwd, 'node_modules'));
  writeFileSync(join(cwd, 'manifests.ts'), text.join('\n'));
  const options = '--noEmit --module esnext --moduleResolution bundler --target esnext'.split(' ');
  const tsc = resolve('node_modules/.bin/tsc');
  const { stdout } = spawnSync(tsc, [...options, 'manifests.ts'], { cwd, encoding: 'utf8' });
  return stdout.trim().split(/\n(?! )/);
}

t.test('every manifest follows the API of Kubernetes 1.30, the oldest version that is promised', async t => {
  t.match(deploy.head, /Kubernetes 1\.30 or later/);
  t.match(deploy.versionOf('node_modules/kubernetes-types/package.json'), /^1\.30\./);
  const wrong = { ...deployments[0], specs: {} };
  const problems = problemsOf([...manifests, wrong]);
  t.match(problems, [/specs/]);
  t.equal(problems.length, 1, 'and nothing else is wrong');
});

t.test('kustomize puts together all that is there, with a version of the image', async t => {
  const { resources, configMapGenerator, images } = kustomization;
  const named = configMapGenerator.flatMap(({ envs = [], files = [] }: Manifest) => [...envs, ...files]);
  t.same([...resources, ...named, 'kustomization.yaml'].sort(), deploy.files.sort());
  t.match(images, [{ name: 'triport', newTag: deploy.versionOf('package.json') }]);
  if (has('kubectl')) execFileSync('kubectl', ['kustomize', 'deploy/kubernetes']);
});

t.test('the wait for the migration, which comes before the servers, ends after it', async t => {
  const [{ metadata, spec }] = ofKind('Job');
  const minutes = new RegExp(`wait job/${metadata.name} .* --timeout=(\\d+)m`).exec(deploy.head)?.[1];
  t.ok(Number(minutes) * 60 > spec.activeDeadlineSeconds);
  const first = manifests.filter(each => each.metadata.labels?.step === 'first').map(({ kind }) => kind);
  t.same(new Set(first), new Set(['NetworkPolicy', 'Job']));
});

t.test('pods fulfil the restricted standard for security, have limits, and find their secrets', async t => {
  for (const { containers, volumes, securityContext, ...pod } of pods) {
    t.match(pod, { automountServiceAccountToken: false, enableServiceLinks: false });
    t.match(securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    t.equal(securityContext.fsGroup, securityContext.runAsGroup, 'which may read the secrets');
    const [{ securityContext: own, resources, volumeMounts, env, envFrom = [] }] = containers;
    t.match(own, { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
    t.same(own.capabilities, { drop: ['ALL'] });
    t.match(resources, { requests: { cpu: String, memory: String }, limits: { memory: String } });
    for (const { configMapRef } of envFrom)
      t.equal(configMapRef.name, kustomization.configMapGenerator[0].name);
    const given = env?.map(({ name, value }: Manifest) => [name, value]) ?? Object.entries(settings);
    const [{ name, secret }] = volumes.filter((each: Manifest) => each.secret);
    t.equal(secret.defaultMode, 0o440);
    const { mountPath } = volumeMounts.find((each: Manifest) => each.name === name);
    for (const [key, path] of given)
      if (key.endsWith('_FILE')) t.equal(path, `${mountPath}/${key.replace('_FILE', '')}`);
  }
});

t.test('servers and workers are replaced without a gap, and have the time to shut down', async t => {
  for (const { spec, metadata } of deployments) {
    const { containers, topologySpreadConstraints: spreads, ...pod } = spec.template.spec;
    const [{ ports, startupProbe, livenessProbe, readinessProbe, lifecycle }] = containers;
    const probes = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
    t.same(
      probes.map(({ path }) => path),
      ['/health/live', '/health/live', '/health/ready'],
    );
    for (const { port } of probes) t.ok(ports.some(({ name }: Manifest) => name === port));
    t.match(ports.at(-1), { name: 'metrics', containerPort: Number(settings.METRICS_PORT) });
    t.equal(spec.template.metadata.annotations['prometheus.io/port'], settings.METRICS_PORT);
    const budget = ofKind('PodDisruptionBudget').find(each => each.metadata.name === metadata.name).spec;
    for (const selector of [
      budget.selector,
      spec.selector,
      ...spreads.map((each: Manifest) => each.labelSelector),
    ])
      t.same(selector, { matchLabels: spec.template.metadata.labels });
    const pause = lifecycle?.preStop.sleep.seconds ?? 0;
    t.ok(pod.terminationGracePeriodSeconds > pause + Number(settings.REQUEST_TIMEOUT) + 2);
  }
});

t.test('only the ingress controller reaches the port whose clients TRUST_PROXY believes', async t => {
  const policies = ofKind('NetworkPolicy').map(({ spec }) => spec);
  t.same(policies[0], { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }, 'everything is denied first');
  const allowed = policies.flatMap(({ ingress = [] }) => ingress);
  const ports = pods[0].containers[0].ports.map(({ containerPort }: Manifest) => [
    { port: containerPort, protocol: 'TCP' },
  ]);
  t.same(
    allowed.map(each => each.ports),
    ports,
  );
  for (const { from } of allowed) t.ok(from[0].namespaceSelector.matchLabels['kubernetes.io/metadata.name']);
  const [{ metadata }] = ofKind('Service');
  const paths = ofKind('Ingress').flatMap(({ spec }) => spec.rules[0].http?.paths ?? []);
  t.same(new Set(paths.map(({ backend }) => backend.service.name)), new Set([metadata.name]));
});

t.test('one Ingress has the host, and bounds all bodies but those of webhooks', async t => {
  const [master, ...minions] = ofKind('Ingress');
  const hosts = [master, ...minions].map(({ spec }) => spec.rules[0].host);
  t.same(new Set(hosts), new Set(master.spec.tls[0].hosts));
  const described = [master, ...minions].map(({ metadata, spec }) => [
    metadata.annotations['nginx.org/mergeable-ingress-type'],
    spec.rules[0].http?.paths.map(({ path }: Manifest) => path),
    metadata.annotations['nginx.org/client-max-body-size'],
  ]);
  t.same(described, [
    ['master', undefined, '300k'],
    ['minion', ['/'], undefined],
    ['minion', ['/api/webhooks'], '3m'],
  ]);
  // The controller takes some annotations from the master for all paths, and this one from the minion of a path.
  t.match(minions[0].metadata.annotations, { 'nginx.org/websocket-services': 'triport' });
  t.notOk(master.metadata.annotations['nginx.org/websocket-services']);
  const nginx = readFileSync('deploy/nginx.conf', 'utf8');
  t.same(
    [...nginx.matchAll(/client_max_body_size (\w+)/g)].map(([, size]) => size),
    ['300k', '3m'],
    'as nginx.conf',
  );
});
