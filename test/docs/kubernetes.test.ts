import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import ts from 'typescript';
import { parseAllDocuments } from 'yaml';
import {
  deployments,
  files,
  kustomization,
  type Manifest,
  manifests,
  ofKind,
  pods,
  settings,
} from '../rig/deploy/manifests.ts';
import { has } from '../rig/openCluster.ts';

/** The groups of the API, by their folders in kubernetes-types. */
const groups: Record<string, string> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'batch/v1': 'batch/v1',
  'policy/v1': 'policy/v1',
  'autoscaling/v2': 'autoscaling/v2',
  'networking.k8s.io/v1': 'networking/v1',
};

/** What the types of Kubernetes refuse: members that do not exist, wrong types, and what is missing. */
function problemsOf(given: Manifest[]): string[] {
  const path = fileURLToPath(new URL('manifests.ts', import.meta.url));
  const text = given.map(
    (manifest, i) =>
      `export const _${i}: import('kubernetes-types/${groups[manifest.apiVersion]}').${manifest.kind} = ${JSON.stringify(manifest)};`,
  );
  const options = {
    noEmit: true,
    strict: true,
    types: [],
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const target = { ...options, module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext };
  const host = ts.createCompilerHost(target);
  const { getSourceFile } = host;
  host.getSourceFile = (name, ...rest) =>
    name === path
      ? ts.createSourceFile(path, text.join('\n'), ts.ScriptTarget.ESNext)
      : getSourceFile.call(host, name, ...rest);
  const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([path], target, host));
  return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

t.test('every manifest follows the API of Kubernetes 1.30, the oldest version that is promised', async t => {
  t.same(problemsOf(manifests), []);
  t.match(readFileSync('deploy/kubernetes/kustomization.yaml', 'utf8'), /Kubernetes 1\.30 or later/);
  const { version } = JSON.parse(readFileSync('node_modules/kubernetes-types/package.json', 'utf8'));
  t.match(version, /^1\.30\./);
  const [server] = deployments;
  const { spec } = server;
  const pod = { ...pods[0], automountToken: false };
  const wrong = [
    { kind: 'Deploymint' },
    { specs: {} },
    { spec: { ...spec, template: { spec: pod } } },
    { spec: { ...spec, replicas: '3' } },
  ];
  const problems = problemsOf(wrong.map(each => ({ ...server, ...each })));
  t.match(problems, [/Deploymint/, /specs/, /automountToken/, /not assignable to type 'number'/]);
  t.equal(problems.length, wrong.length);
});

t.test('kustomize puts together all that is there, with a version of the image', async t => {
  t.same([...kustomization.resources, ...kustomization.configMapGenerator[0].envs].sort(), files.sort());
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const [{ name, newName, newTag }] = kustomization.images;
  t.equal(newTag, version);
  t.notMatch(newName, ':');
  for (const { containers } of pods)
    for (const { image } of containers) t.equal(image, name, 'which gets this version');
  for (const { containers } of pods)
    for (const { envFrom } of containers)
      t.same(envFrom, [{ configMapRef: { name: kustomization.configMapGenerator[0].name } }]);
});

const noKubectl = !has('kubectl') && 'kubectl is not installed';
t.test(
  'kubectl builds it: one version, one namespace, and settings by their hash',
  { skip: noKubectl },
  t => {
    const text = execFileSync('kubectl', ['kustomize', 'deploy/kubernetes'], { encoding: 'utf8' });
    const built: Manifest[] = parseAllDocuments(text).map(document => document.toJS());
    t.equal(built.length, manifests.length + 1);
    for (const { metadata } of built) t.equal(metadata.namespace, 'triport');
    const [{ metadata, data }] = built.filter(({ kind }) => kind === 'ConfigMap');
    t.match(metadata.name, /^triport-\w{10}$/);
    t.same(data, settings);
    for (const { spec } of built.filter(({ kind }) => /Deployment|Job/.test(kind)))
      for (const { image, envFrom } of spec.template.spec.containers) {
        t.same(envFrom, [{ configMapRef: { name: metadata.name } }]);
        t.equal(image, `${kustomization.images[0].newName}:${kustomization.images[0].newTag}`);
      }
    t.same(problemsOf(built), []);
    t.end();
  },
);

t.test('settings, network and migration come before the rest', async t => {
  const first = manifests.filter(({ metadata }) => metadata.labels?.step === 'first').map(({ kind }) => kind);
  t.same(new Set(first), new Set(['NetworkPolicy', 'Job']));
  t.same(kustomization.configMapGenerator[0].options.labels, { step: 'first' });
  const [job] = ofKind('Job');
  const text = readFileSync('deploy/kubernetes/kustomization.yaml', 'utf8');
  const steps = [
    `delete job ${job.metadata.name} `,
    '-l step=first',
    `wait job/${job.metadata.name} --for=condition=complete --timeout=31m`,
    '-l step!=first',
    ...deployments.map(({ metadata }) => `rollout status deployment/${metadata.name}`),
  ];
  const places = steps.map(step => text.indexOf(step));
  t.notOk(places.includes(-1), steps.join('; '));
  t.same(
    places,
    places.toSorted((a, b) => a - b),
  );
  t.ok(31 * 60 > job.spec.activeDeadlineSeconds, 'the wait ends after the job');
});

t.test('pods fulfil the restricted standard for security, and have limits', async t => {
  for (const { containers, ...pod } of pods) {
    t.match(pod, {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, fsGroup: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    });
    for (const { securityContext, resources, volumeMounts } of containers) {
      t.match(securityContext, {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
      t.match(resources, { requests: { cpu: String, memory: String }, limits: { memory: String } });
      const [{ mountPath }] = volumeMounts;
      for (const name of ['DATABASE_URL', 'REDIS_URL', 'WEBHOOK_SECRETS'])
        t.equal(settings[`${name}_FILE`], `${mountPath}/${name}`);
    }
    const [{ secret }] = pod.volumes;
    t.same(secret, { secretName: 'triport', defaultMode: 0o440 });
  }
});

t.test('servers and workers have probes, a budget and a spread, and are replaced without a gap', async t => {
  t.equal(deployments.length, 2);
  for (const { spec, metadata } of deployments) {
    const { component } = spec.template.metadata.labels;
    const { containers, topologySpreadConstraints } = spec.template.spec;
    const [{ ports, startupProbe, livenessProbe, readinessProbe }] = containers;
    for (const { httpGet } of [startupProbe, livenessProbe]) t.equal(httpGet.path, '/health/live');
    t.equal(readinessProbe.httpGet.path, '/health/ready');
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe])
      t.ok(ports.some(({ name }: Manifest) => name === httpGet.port));
    t.same(spec.strategy, { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
    t.equal(topologySpreadConstraints.length, 2);
    for (const { labelSelector } of [...topologySpreadConstraints, { labelSelector: spec.selector }])
      t.same(labelSelector, { matchLabels: { component } });
    const budget = ofKind('PodDisruptionBudget').find(each => each.metadata.name === metadata.name);
    t.match(budget?.spec, { maxUnavailable: 1, selector: { matchLabels: { component } } });
  }
  const [{ spec }] = ofKind('HorizontalPodAutoscaler');
  t.equal(spec.scaleTargetRef.name, deployments[0].metadata.name);
});

t.test('a pod has the time to shut down before it is killed', async t => {
  for (const { spec } of deployments) {
    const { terminationGracePeriodSeconds: gracePeriod, containers } = spec.template.spec;
    const pause = containers[0].lifecycle?.preStop.sleep.seconds ?? 0;
    t.ok(gracePeriod > pause + Number(settings.REQUEST_TIMEOUT) + 2, `${gracePeriod} s`);
  }
});

t.test('only the ingress controller reaches the port whose clients TRUST_PROXY believes', async t => {
  const policies = ofKind('NetworkPolicy').map(({ spec }) => spec);
  t.same(policies[0], { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }, 'everything is denied first');
  const allowed = policies.flatMap(({ ingress = [] }) => ingress);
  const [server] = pods;
  const [http, metrics] = server.containers[0].ports.map(({ containerPort }: Manifest) => containerPort);
  t.same(
    allowed.map(({ ports }) => ports.map(({ port }: Manifest) => port)),
    [[http], [metrics]],
  );
  for (const { from } of allowed) {
    t.equal(from.length, 1);
    t.ok(from[0].namespaceSelector.matchLabels['kubernetes.io/metadata.name']);
  }
  t.equal(settings.TRUST_PROXY, '1', 'the controller alone');
  t.equal(metrics, Number(settings.METRICS_PORT));
});

t.test('the Ingress leads to the servers over TLS, by the same paths', async t => {
  const [{ metadata, spec }] = ofKind('Ingress');
  const [{ metadata: service, spec: serves }] = ofKind('Service');
  const [{ host, http }] = spec.rules;
  t.match(spec.tls, [{ hosts: [host], secretName: String }]);
  t.match(http.paths, [{ path: '/', pathType: 'Prefix', backend: { service: { name: service.name } } }]);
  t.equal(http.paths[0].backend.service.port.name, serves.ports[0].name);
  t.same(serves.selector, deployments[0].spec.selector.matchLabels);
  // As in nginx.conf: webhooks have up to 2 MiB.
  t.equal(metadata.annotations['nginx.org/client-max-body-size'], '3m');
  t.notMatch(Object.keys(metadata.annotations).join(), 'rewrite');
});
