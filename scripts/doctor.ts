import { styleText } from 'node:util';
import { type Given, runCommand, UsageError } from '../src/command.ts';
import { loadSettings, SettingsError } from '../src/config/settings.ts';
import { printable, printableJson } from '../src/core/text.ts';
import { exit } from '../src/process/exit.ts';
import { checkTraces } from '../src/process/traces.ts';
import { checkDatabase } from './lib/doctor/database.ts';
import { checkEmbedded } from './lib/doctor/embedded.ts';
import { checkExposure } from './lib/doctor/exposure.ts';
import {
  type Check,
  countOf,
  type Deployment,
  type Finding,
  ok,
  problem,
  run,
} from './lib/doctor/finding.ts';
import { checkIssuer } from './lib/doctor/issuer.ts';
import { checkPorts } from './lib/doctor/ports.ts';
import { checkRedis } from './lib/doctor/redis.ts';
import { checkRuntime } from './lib/doctor/runtime.ts';
import { checkSecrets } from './lib/doctor/secrets.ts';

const usage = `npm run doctor -- [--servers 1] [--workers 0] [--json]

Checks a deployment: settings, database, replicas, Redis, token issuer, secrets, clocks, ports and disk. Prints a line for each
check, with what is wrong and what to do. Exits with 1 when there is a problem, with 0 when there are at most warnings. It
changes nothing but a key in Redis, which expires after a second, and prints no secret. Run it where the service runs, with the settings of the service.

  --servers  how many servers share the database, to count connections
  --workers  how many workers do; 1 by default with WORKER=apart
  --json     the findings as JSON, for machines

In a container: node scripts/doctor.ts

Example: npm run doctor -- --servers 3 --workers 2`;

const options = {
  servers: { type: 'string', default: '1' },
  workers: { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** In the order of the report. */
const checks: Check[] = [
  checkRuntime,
  checkExposure,
  checkSecrets,
  checkEmbedded,
  checkDatabase,
  checkRedis,
  checkIssuer,
  checkPorts,
];

const marks = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

function print({ level, text }: Finding): void {
  console.log(`${styleText(marks[level], level.padEnd(8), { stream: process.stdout })} ${printable(text)}`);
}

/** The settings are the first check: without them, there is nothing else to check. */
async function* examine(values: Given<typeof options>['values']) {
  let settings: Deployment['settings'];
  try {
    settings = loadSettings();
    checkTraces(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const text of error.problems) yield problem(`${text}.`);
    return;
  }
  yield ok('The settings are valid and do not contradict each other.');
  const servers = numberOf('servers', values.servers);
  const workers = numberOf('workers', values.workers ?? (settings.WORKER === 'apart' ? '1' : '0'));
  for (const check of checks) yield* run(check, { settings, servers, workers });
}

function numberOf(name: string, text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new UsageError(`--${name} must be a number from 0 to 9999`);
  return Number(text);
}

async function main({ values }: Given<typeof options>) {
  const findings: Finding[] = [];
  for await (const finding of examine(values)) {
    findings.push(finding);
    if (!values.json) print(finding);
  }
  const count = (level: Finding['level']) => findings.filter(finding => finding.level === level).length;
  if (values.json) console.log(printableJson(JSON.stringify(findings, null, 2)));
  else
    console.log(
      `\n${count('ok')} ok, ${countOf(count('warning'), 'warning')}, ${countOf(count('problem'), 'problem')}`,
    );
  // A server that fell silent would keep the process alive.
  await exit(count('problem') > 0 ? 1 : 0);
}

await runCommand({ usage, options, run: main });
