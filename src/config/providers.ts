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
const nameRule = '1 to 64 lower-case letters, digits, hyphens and underscores';

/** The providers in `WEBHOOK_SECRETS`, and what is wrong with it. No message repeats a secret. */
export function readProviders(text = '{}'): { providers: Providers; problems: string[] } {
  const providers = new Map<string, Provider>();
  const problems: string[] = [];
  for (const [name, value] of entriesOf(text, problems)) {
    const settings = (Array.isArray(value) ? { secrets: value } : value) as ProviderSettings;
    if (!validName.test(name)) problems.push(`a provider's name must be ${nameRule}`);
    const violations = check(settings);
    if (violations) {
      problems.push(...violations.map(({ path, message }) => `${name}${path} ${message}`));
      continue;
    }
    const isStandard = settings.scheme === 'standard';
    if (isStandard && !settings.secrets.every(isStandardSecret))
      problems.push(`${name}/secrets must be base64 of at least 16 bytes, after \`whsec_\``);
    const header = isStandard ? 'webhook-signature' : `${name}-signature`;
    providers.set(name, { header, ...settings, name });
  }
  return { providers, problems: problems.map(problem => `WEBHOOK_SECRETS: ${problem}`) };
}

/** Anything else may decode to an empty key, with which anyone can sign. */
function isStandardSecret(secret: string): boolean {
  const text = secret.replace(/^whsec_/, '');
  return /^[A-Za-z0-9+/]{22,}={0,2}$/.test(text) && Buffer.from(text, 'base64').length >= 16;
}

function entriesOf(text: string, problems: string[]): [string, unknown][] {
  try {
    const given: unknown = JSON.parse(text);
    if (given !== null && typeof given === 'object' && !Array.isArray(given)) return Object.entries(given);
  } catch {
    // The parser's own message would quote a secret.
  }
  problems.push('must be a JSON object such as {"stripe":["current","previous"]}');
  return [];
}
