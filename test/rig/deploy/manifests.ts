import { readdirSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';

// biome-ignore lint/suspicious/noExplicitAny: manifests have every shape
export type Manifest = any;

export const versionOf = (file: string): string => JSON.parse(readFileSync(file, 'utf8')).version;

const folder = 'deploy/kubernetes';
const read = (path: string) => readFileSync(`${folder}/${path}`, 'utf8');

export const files = readdirSync(folder);
/** The list of what kustomize puts together; tests read it themselves, because kustomize is no npm package. */
export const kustomization: Manifest = parse(read('kustomization.yaml'));
export const manifests: Manifest[] = kustomization.resources.flatMap((file: string) =>
  parseAllDocuments(read(file)).map(document => document.toJS()),
);
export const head = read('kustomization.yaml');
export const settings: NodeJS.Dict<string> = parseEnv(read('settings.env'));
export const ofKind = (kind: string) => manifests.filter(manifest => manifest.kind === kind);
export const deployments = ofKind('Deployment');
const jobs = [...ofKind('Job'), ...ofKind('CronJob').map(({ spec }) => spec.jobTemplate)];
export const pods = [...deployments, ...jobs].map(({ spec }) => spec.template.spec);
