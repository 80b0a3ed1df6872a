import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Settings } from '../../../schemas/settings.ts';
import type { PresetName } from '../../../src/config/presets/index.ts';
import { type Provider, readProviders } from '../../../src/config/providers.ts';
import { keptSecrets } from '../../../src/config/secrets.ts';
import { type Deployment, type Finding, type Findings, ok, warning } from './finding.ts';

const leastLength = 16;

/** How the secrets of providers that generate them begin. Those of the others are chosen by their users. */
const forms: Partial<Record<PresetName, { begins: string; at: string }>> = {
  stripe: { begins: 'whsec_', at: 'Stripe, under Webhooks, as the signing secret of the endpoint' },
  paddle: { begins: 'pdl_ntfset_', at: 'Paddle, under Notifications, as the secret key of the destination' },
};

/** Signing secrets, and who can read what is secret. No finding repeats a value. */
export async function* checkSecrets({ settings }: Deployment): Findings {
  const { DATABASE_URL, WEBHOOK_SECRETS, DATA_DIR } = settings;
  const kept = DATABASE_URL === undefined ? keptSecrets(DATA_DIR) : undefined;
  const providers = [...readProviders(WEBHOOK_SECRETS ?? kept).providers.values()];
  if (providers.length === 0)
    yield DATABASE_URL === undefined
      ? ok('The first start makes a webhook secret for stripe.')
      : warning('WEBHOOK_SECRETS is not set: webhooks of every provider are refused.');
  const findings = providers.flatMap(provider =>
    provider.secrets.map(secret => checkSecret(provider, secret)),
  );
  const wrong = findings.filter(finding => finding !== undefined);
  yield* wrong;
  if (providers.length > 0 && wrong.length === 0)
    yield ok(`Webhooks of ${providers.map(({ name }) => name).join(', ')} have usable secrets.`);
  yield* checkDatabasePassword(DATABASE_URL);
  yield* checkFiles();
}

function checkSecret({ name, preset, scheme }: Provider, secret: string): Finding | undefined {
  const form = scheme === 'standard' ? undefined : forms[preset];
  // A provider of another name may use the format without its secrets.
  if (form && name === preset && !secret.startsWith(form.begins))
    return warning(
      `A secret of ${name} does not begin with ${form.begins}. It is shown at ${form.at}; an API key is another one.`,
    );
  if (secret.length < leastLength || new Set(secret).size < 6)
    return warning(
      `A secret of ${name} is so short or plain that it can be guessed. Use one of ${leastLength} or more characters.`,
    );
  return undefined;
}

function* checkDatabasePassword(url: string | undefined): Generator<Finding> {
  if (url === undefined) return;
  const { username, password, hostname } = new URL(url);
  if (password !== '' && password === username && !/^(localhost|127\..*|\[::1\])$/.test(hostname))
    yield warning('The password in DATABASE_URL is the name of its user. Choose another.');
}

/** The files that hold secrets: those named by NAME_FILE, and `.env`. */
function* checkFiles(): Generator<Finding> {
  const named = Object.entries(Settings.properties)
    .filter(([name, { secret }]) => secret && process.env[`${name}_FILE`])
    .map(([name]) => ({ name: `${name}_FILE`, path: process.env[`${name}_FILE`] ?? '' }));
  const files = [...named, { name: 'The file .env', path: '.env' }].filter(({ path }) => existsSync(path));
  const open = files.filter(({ path }) => isOpenToOthers(path));
  for (const { name, path } of open)
    yield warning(`${name} can be read by every user of this machine: \`chmod 600 ${path}\`.`);
  if (files.length > 0 && open.length === 0) yield ok('Files with secrets are closed to other users.');
}

/** Whether other users can read it: neither the file nor a folder above it keeps them out. */
function isOpenToOthers(path: string): boolean {
  const real = realpathSync(path);
  // Docker and Kubernetes mount secrets there, in a container without other users.
  if (path.startsWith('/run/secrets/') || (statSync(real).mode & 0o004) === 0) return false;
  for (let folder = dirname(real); folder !== dirname(folder); folder = dirname(folder))
    if ((statSync(folder).mode & 0o001) === 0) return false;
  return true;
}
