import { readdirSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';

// biome-ignore lint/suspicious/noExplicitAny: manifests have every shape
export type Manifest = any;

const folder = 'deploy/kubernetes';
const read = (name: string) => readFileSync(`${folder}/${name}`, 'utf8');

/** What is in deploy/kubernetes. Without kustomize, which is no npm package. */
export const kustomization: Manifest = parse(read('kustomization.yaml'));
export const files = readdirSync(folder).filter(name => name !== 'kustomization.yaml');
export const settings: NodeJS.Dict<string> = parseEnv(read('settings.env'));
export const manifests: Manifest[] = (kustomization.resources as string[]).flatMap(file =>
  parseAllDocuments(read(file)).map(document => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  }),
);
export const ofKind = (kind: string) => manifests.filter(manifest => manifest.kind === kind);
export const deployments = ofKind('Deployment');
export const pods = [...deployments, ...ofKind('Job')].map(({ spec }) => spec.template.spec);
