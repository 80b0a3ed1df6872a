import { type Arguments, type Io, mainOf, UsageError } from '#src/command.ts';
import { SettingsError } from '#src/config/settings.ts';
import { OperatorError } from '#src/core/errors.ts';
import { printable, printableJson } from '#src/core/text.ts';
import { checkDatabase } from './lib/doctor/database.ts';
import { checkExposure } from './lib/doctor/exposure.ts';
import type { Deployment, Finding } from './lib/doctor/finding.ts';
import { checkIssuer } from './lib/doctor/issuer.ts';
import { checkRedis } from './lib/doctor/redis.ts';

const usage = `npm run doctor -- [--servers 1] [--workers 0] [--json]

Checks the settings and what they lead to. Each finding says what to do; a problem makes it exit with 1. It changes nothing but
a key in Redis, which expires after a second, and prints no secret. Run it where the service runs.

  --servers, --workers  how many processes share the database, to count connections
  --json                the findings as JSON, each with a code

Example: npm run doctor -- --servers 3 --workers 2`;

const number = (value: string) => ({ type: 'string', default: value }) as const;
const options = { servers: number('1'), workers: number('0'), json: { type: 'boolean' } } as const;

/** Each check runs when its setting is given. The sentence is reported when the check finds nothing. */
const checks = [
  ['exposure', 'HOST', 'Nobody can reach, read or sign what is not meant for them.', checkExposure],
  ['database', 'DATABASE_URL', 'The database has the rights, migrations and connections.', checkDatabase],
  ['redis', 'REDIS_URL', 'Redis answers and takes writes.', checkRedis],
  ['issuer', 'AUTH_JWKS_URL', 'The issuer of tokens has keys, and publishes no other name.', checkIssuer],
] as const;

async function examine({ values }: Arguments<typeof options>, io: Io): Promise<number> {
  const [servers, workers] = [Number(values.servers), Number(values.workers)];
  if (!(servers >= 0 && workers >= 0)) throw new UsageError('--servers and --workers must be numbers');
  const findings: Finding[] = [];
  const report: Deployment['report'] = (level, code, text) => void findings.push({ level, code, text });
  try {
    const settings = io.settings();
    report('ok', 'settings', 'The settings are valid and do not contradict each other.');
    if (!settings.DATABASE_URL) report('ok', 'database', 'The embedded database is checked when it starts.');
    for (const [code, name, wellText, check] of checks) {
      if (settings[name] === undefined) continue;
      const before = findings.length;
      const deployment = { settings, servers, workers, report };
      await check(deployment).catch(error => report('problem', code, describeFailure(name, error)));
      if (findings.length === before) report('ok', code, wellText);
    }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const text of error.problems) report('problem', 'settings', text);
  }
  if (values.json) io.out(printableJson(JSON.stringify(findings, null, 2)));
  else for (const { level, text } of findings) io.out(`${level.padEnd(8)} ${printable(text)}`);
  return findings.some(({ level }) => level === 'problem') ? 1 : 0;
}

/** `fetch` puts the reason into the cause. The message is empty when a host name has several addresses. */
function describeFailure(name: string, error: Error): string {
  if (error instanceof OperatorError) return error.message;
  const { message, code } = (error.cause ?? error) as NodeJS.ErrnoException;
  return `${name} cannot be used (${message || code}): start it, open the firewalls, or correct the setting.`;
}

export const main = await mainOf(import.meta, { usage, options, run: examine });
