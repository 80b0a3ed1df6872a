import manifest from '../../../package.json' with { type: 'json' };
import { OperatorError } from '../../../src/core/errors.ts';
import { silentLog } from '../../../src/core/log.ts';
import { connectTo } from '../../../src/database/postgres/client.ts';
import { type Findings, ok, problem, warning } from './finding.ts';

const tested = manifest.devDependencies.node;

/** What the service runs on. */
export async function* checkRuntime(): Findings {
  const { version } = process;
  const [major] = version.slice(1).split('.');
  yield major === tested.split('.')[0]
    ? ok(`Node is ${version}.`)
    : warning(
        `Node is ${version}, and the service is tested on ${tested}: run it with the \`node\` of npm ci.`,
      );
  yield await checkPatches();
}

/** Opening a pool refuses a driver without its fixes; it connects to nothing. */
async function checkPatches() {
  try {
    await connectTo({ url: 'postgres://127.0.0.1/none', connections: 1 }, silentLog).close();
    return ok('The driver of PostgreSQL has its patches.');
  } catch (error) {
    if (error instanceof OperatorError) return problem(error.message);
    throw error;
  }
}
