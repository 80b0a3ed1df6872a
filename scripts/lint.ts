import { formatProblems, getTotals, lint, loadConfig } from '@redocly/openapi-core';
import { type Io, mainOf, runMain } from '../src/command.ts';
import { OperatorError } from '../src/core/errors.ts';

const usage = `npm run lint:openapi: checks openapi.yaml by the recommended rules of Redocly. It has no options.

Example: npm run lint:openapi`;

async function lintDocument(_: unknown, { out }: Io) {
  const config = await loadConfig({ configPath: 'redocly.yaml' });
  const problems = await lint({ ref: 'openapi.yaml', config });
  const totals = getTotals(problems);
  formatProblems(problems, { totals, version: '' });
  if (problems.length > 0)
    throw new OperatorError(`${totals.errors} errors and ${totals.warnings} warnings in openapi.yaml.`);
  out('openapi.yaml follows the rules.');
}

export const main = mainOf({ usage, run: lintDocument });
if (import.meta.main) await runMain(main);
