import { ProviderSettings, type SignatureScheme } from '../../schemas/provider.ts';
import { compileCheck } from '../core/validation.ts';

/** A payment provider whose events are accepted. */
export interface Provider {
  readonly name: string;
  readonly scheme: SignatureScheme;
  /** The header that holds the signature. */
  readonly header: string;
  readonly secrets: readonly string[];
}
export type Providers = ReadonlyMap<string, Provider>;

const check = compileCheck(ProviderSettings, 'body');
const validName = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The providers in `WEBHOOK_SECRETS`, and what is wrong with it. No message repeats a secret. */
export function readProviders(text = '{}'): { providers: Providers; problems: string[] } {
  const providers = new Map<string, Provider>();
  const problems: string[] = [];
  for (const [name, value] of entriesOf(text, problems)) {
    const settings = (Array.isArray(value) ? { secrets: value } : value) as ProviderSettings;
    if (!validName.test(name))
      problems.push(
        'the name of a provider must be 1 to 64 lower-case letters, digits, hyphens and underscores',
      );
    const violations = check(settings) ?? [];
    problems.push(...violations.map(({ path, message }) => `${name}${path} ${message}`));
    if (
      violations.length === 0 &&
      settings.scheme === 'standard' &&
      !settings.secrets.every(isStandardSecret)
    )
      problems.push(`${name}/secrets must be base64 of at least 16 bytes, after \`whsec_\``);
    const defaultHeader = settings?.scheme === 'standard' ? 'webhook-signature' : `${name}-signature`;
    providers.set(name, { ...settings, name, header: settings?.header ?? defaultHeader });
  }
  return { providers, problems: problems.map(problem => `WEBHOOK_SECRETS: ${problem}`) };
}

/** Text that is not base64 would decode to an empty key, with which anyone can sign. */
function isStandardSecret(secret: string): boolean {
  const text = secret.replace(/^whsec_/, '');
  return /^[A-Za-z0-9+/]{22,}={0,2}$/.test(text) && Buffer.from(text, 'base64').length >= 16;
}

function entriesOf(text: string, problems: string[]): [string, unknown][] {
  try {
    const given: unknown = JSON.parse(text);
    if (given !== null && typeof given === 'object' && !Array.isArray(given)) return Object.entries(given);
  } catch {
    // The parser's own message would quote the text, and with it a secret.
  }
  problems.push('must be a JSON object such as {"stripe":["current","previous"]}');
  return [];
}
