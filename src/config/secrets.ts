import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '#schemas/settings.ts';
import { OperatorError } from '#src/core/errors.ts';
import { readProviders } from './providers.ts';

const fileIn = (folder: string) => join(folder, 'webhook-secrets.json');

/** Gives an embedded database without WEBHOOK_SECRETS a secret, made at its first start and kept in its folder. */
export function withKeptSecrets(settings: Settings): Settings {
  const { WEBHOOK_SECRETS, DATABASE_URL, DATA_DIR: folder } = settings;
  if (WEBHOOK_SECRETS !== undefined || DATABASE_URL !== undefined) return settings;
  return { ...settings, WEBHOOK_SECRETS: keptSecrets(folder) ?? generateSecrets(folder) };
}

/** The secrets kept by an earlier start, if any. */
export function keptSecrets(folder: string): string | undefined {
  const file = fileIn(folder);
  if (!existsSync(file)) return undefined;
  const secrets = readFileSync(file, 'utf8').trim();
  // Refuses a damaged file: the service would start without providers and say nothing.
  const [problem] = readProviders(secrets).problems;
  if (problem) throw new OperatorError(`${file} is damaged: ${problem}`);
  return secrets;
}

function generateSecrets(folder: string): string {
  const secrets = JSON.stringify({ stripe: [`whsec_${randomBytes(32).toString('base64url')}`] });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Renames the file once it is complete, so that a killed process leaves no broken one.
  const unfinished = `${fileIn(folder)}.unfinished`;
  writeFileSync(unfinished, `${secrets}\n`, { mode: 0o600 });
  renameSync(unfinished, fileIn(folder));
  return secrets;
}
