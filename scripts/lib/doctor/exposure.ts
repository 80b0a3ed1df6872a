import { replicaUrls } from '../../../src/config/urls.ts';
import { type Deployment, type Findings, ok, problem, warning } from './finding.ts';

const onLoopback = (host: string) => /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|)$/.test(host);

/** Who can reach the service, and who can read along. */
export async function* checkExposure({ settings }: Deployment): Findings {
  const { NODE_ENV, HOST, AUTH_MODE = 'open', AUTH_JWKS_URL, TRUST_PROXY } = settings;
  const isPublic = NODE_ENV === 'production' || !onLoopback(HOST);
  if (AUTH_MODE === 'required')
    yield ok(`AUTH_MODE is required: callers need an API key${AUTH_JWKS_URL ? ' or a token' : ''}.`);
  else if (isPublic)
    yield warning('AUTH_MODE is open: anyone who reaches the port may read and write. Set it to required.');
  else yield ok('AUTH_MODE is open, and the service listens on the loopback address alone.');
  if (NODE_ENV !== 'production') {
    if (isPublic)
      yield warning(
        `NODE_ENV is ${NODE_ENV}, but HOST=${HOST} is no loopback address. Set it to production.`,
      );
    return;
  }
  yield checkProxies(TRUST_PROXY);
  yield* checkEncryption(settings);
}

function checkProxies(trusted: string) {
  if (trusted === '' || trusted === '0')
    return warning(
      'TRUST_PROXY is empty: behind a balancer, all clients count as one address. Set it to the address of the balancer.',
    );
  if (/\/0+(\s*,|\s*$)/.test(trusted))
    return problem(
      'TRUST_PROXY trusts every address: any client can claim any other, and so evade its rate limit. List the balancers.',
    );
  if (/^\d+$/.test(trusted))
    return ok(`TRUST_PROXY trusts ${trusted} hops: nobody but the balancer may reach the port.`);
  return ok('TRUST_PROXY lists addresses.');
}

function* checkEncryption(settings: Deployment['settings']) {
  const { DATABASE_URL, REDIS_URL } = settings;
  const urls = { DATABASE_URL, REDIS_URL };
  const plain = Object.entries(urls).filter(([, url]) => url !== undefined && isPlain(url));
  const names = plain.map(([name]) => name);
  if (replicaUrls(settings).some(isPlain)) names.push('DATABASE_REPLICA_URLS');
  if (names.length > 0)
    yield warning(
      `What goes over ${names.join(' and ')} is not encrypted. Unless that network is yours alone, add ?sslmode=verify-full for PostgreSQL, and use rediss:// for Redis.`,
    );
  else if (DATABASE_URL || REDIS_URL) yield ok('No password crosses a network in clear text.');
}

/** Whether a password and data would cross a network in clear text. */
function isPlain(text: string): boolean {
  const { protocol, hostname, searchParams } = new URL(text);
  if (onLoopback(hostname) || protocol === 'rediss:') return false;
  const mode = searchParams.get('sslmode') ?? searchParams.get('ssl') ?? 'disable';
  // The last two fall back to clear text, and so does anyone in between make them.
  return ['disable', 'false', 'allow', 'prefer'].includes(mode);
}
