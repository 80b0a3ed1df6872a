import { createSecretKey, type KeyObject } from 'node:crypto';
import { ProviderSettings } from '#schemas/service/provider.ts';
import { compileCheck } from '#src/core/validation.ts';
import { isPreset, type Preset, type PresetName, presets } from './presets.ts';

/** No provider may have this name: it is that of the events that are effects. */
export const effectProvider = 'effects';

/** A payment provider whose events are accepted. */
export interface Provider extends Preset {
  readonly name: string;
  /** Decides which handlers its events have. */
  readonly preset: PresetName;
  readonly secrets: readonly string[];
  /** The keys of the secrets, made once: making one from raw bytes takes 13 of the 16 µs that an event takes. */
  readonly keys: readonly KeyObject[];
}

const check = compileCheck(ProviderSettings, 'body');
const validName = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const nameRule = '1 to 64 lower-case letters, digits, hyphens and underscores';

/** The providers in `WEBHOOK_SECRETS`, and what is wrong with it. No message repeats a value. */
export function readProviders(text = '{}') {
  const providers = new Map<string, Provider>();
  const problems: string[] = [];
  for (const [index, [name, value]] of readEntries(text, problems).entries()) {
    // Hides a name that may be a secret, if the two were swapped: secrets are longer, or have capitals.
    const entry = `entry ${index + 1}`;
    const shown = validName.test(name) && name.length < 24 ? name : entry;
    if (value === null || typeof value !== 'object') {
      problems.push(`${entry} must be a list of secrets, or an object`);
      continue;
    }
    const settings = (Array.isArray(value) ? { secrets: value } : value) as ProviderSettings;
    if (!validName.test(name)) problems.push(`${entry}: a provider's name must be ${nameRule}`);
    if (name === effectProvider)
      problems.push(`${entry}: '${name}' is the provider of effects: choose another name`);
    const violations = check(settings);
    if (violations) {
      problems.push(...violations.map(({ path, message }) => `${shown}${path} ${message}`));
      continue;
    }
    const preset = presetName(name, settings);
    if (!isPreset(preset)) {
      problems.push(`${shown}/preset must be one of ${Object.keys(presets).join(', ')}`);
      continue;
    }
    const isFollowed = settings.preset !== undefined || preset === name || preset === 'standard';
    const header = isFollowed ? presets[preset].header : `${name}-signature`;
    const provider = { ...presets[preset], header, ...settings, name, preset };
    const isStandard = provider.scheme === 'standard';
    if (isStandard && !provider.secrets.every(secret => standardSecret.test(secret)))
      problems.push(`${shown}/secrets must be base64 of at least 16 bytes, after \`whsec_\``);
    const secretBytes = (secret: string) =>
      isStandard ? Buffer.from(secret.replace(/^whsec_/, ''), 'base64') : Buffer.from(secret);
    const keys = provider.secrets.map(secret => createSecretKey(secretBytes(secret)));
    providers.set(name, { ...provider, keys });
  }
  return { providers, problems: problems.map(problem => `WEBHOOK_SECRETS: ${problem}`) };
}

/** The preset of a provider. Settings with a scheme describe the provider themselves, so its name chooses none. */
function presetName(name: string, { preset, scheme }: ProviderSettings): string {
  if (preset !== undefined) return preset;
  if (scheme === undefined && isPreset(name)) return name;
  return scheme === 'standard' ? 'standard' : 'stripe';
}

/** Anything else may decode to an empty key, with which anyone can sign. */
const standardSecret = /^(whsec_)?[A-Za-z0-9+/]{22,}={0,2}$/;

function readEntries(text: string, problems: string[]): [string, unknown][] {
  try {
    const parsed: unknown = JSON.parse(text);
    if (parsed !== null && typeof parsed === 'object' && !Array.isArray(parsed))
      return Object.entries(parsed);
  } catch {
    // The parser's own message would quote a secret.
  }
  problems.push('must be a JSON object with a list of secrets for each provider');
  return [];
}
