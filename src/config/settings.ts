import { existsSync, readFileSync } from 'node:fs';
import { Settings } from '#schemas/settings.ts';
import { OperatorError } from '#src/core/errors.ts';
import { compileCheck } from '#src/core/validation.ts';
import { contradictions } from './contradictions.ts';
import { checkEnvFile } from './envFile.ts';
import { misspeltNames, warningAbout } from './settingNames.ts';

const check = compileCheck(Settings, 'body');
export type Environment = Record<string, string | undefined>;

/** Wrong settings, which block startup. The message lists every problem. */
export class SettingsError extends OperatorError {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(['The service cannot start because of its settings:', ...problems].join('\n  - '));
    this.problems = problems;
  }
}

/** The settings of this process: its environment, and what a `.env` file in its working directory adds. */
export function loadSettings(): Settings {
  if (!existsSync('.env')) return readSettings(process.env);
  process.loadEnvFile('.env');
  const { names, problems } = checkEnvFile(readFileSync('.env', 'utf8'));
  const warning = warningAbout(names);
  if (warning) console.warn(warning);
  return readSettings(process.env, problems);
}

/** Completes and checks the settings of an environment; throws if there are problems. */
export function readSettings(env: Environment, found: readonly string[] = []): Settings {
  const problems = [...found];
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(Settings.properties)) {
    const value = schema.secret ? readSecret(name, env, problems) : env[name];
    // Compose files write `NAME=` for a variable that is not set.
    if (value === undefined || value === '') continue;
    values[name] = schema.type === 'integer' && /^-?\d+$/.test(value) ? Number(value) : value;
  }
  for (const { path, message } of check(values) ?? []) problems.push(`${path.slice(1)} ${message}`);
  const settings = values as Settings;
  problems.push(...misspeltNames(env), ...contradictions(settings));
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

function readSecret(name: string, env: Environment, problems: string[]): string | undefined {
  const path = env[`${name}_FILE`];
  if (!path) return env[name];
  if (env[name]) problems.push(`${name} and ${name}_FILE are both set: keep one`);
  try {
    const secret = readFileSync(path, 'utf8').trim();
    // An empty file means that its mount failed. Ignoring it for DATABASE_URL would start the embedded database.
    if (!secret) problems.push(`${name}_FILE is an empty file`);
    return secret;
  } catch (error) {
    problems.push(`${name}_FILE cannot be read: ${(error as Error).message}`);
    return undefined;
  }
}
