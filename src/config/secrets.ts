import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../schemas/settings.ts';

const fileIn = (folder: string) => join(folder, 'webhook-secrets.json');

/**
 * The settings, with a random webhook secret for an embedded database, generated at its first start and kept in its
 * folder. With a well-known default, anyone could activate subscriptions.
 */
export function withKeptSecrets(settings: Settings): Settings {
  if (settings.WEBHOOK_SECRETS !== undefined || settings.DATABASE_URL !== undefined) return settings;
  const file = fileIn(settings.DATA_DIR);
  if (!existsSync(file)) {
    mkdirSync(settings.DATA_DIR, { recursive: true });
    const secret = `whsec_${randomBytes(32).toString('base64url')}`;
    // Renamed when it is complete, so that a process killed half way leaves no broken file.
    writeFileSync(`${file}.unfinished`, `${JSON.stringify({ stripe: [secret] })}\n`, { mode: 0o600 });
    renameSync(`${file}.unfinished`, file);
  }
  return { ...settings, WEBHOOK_SECRETS: readFileSync(file, 'utf8').trim() };
}

/** The secrets kept by an earlier start, if any. */
export function keptSecrets({ DATA_DIR }: Pick<Settings, 'DATA_DIR'>): string | undefined {
  return existsSync(fileIn(DATA_DIR)) ? readFileSync(fileIn(DATA_DIR), 'utf8').trim() : undefined;
}
