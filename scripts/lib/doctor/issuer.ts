import { checkClock, type Deployment } from './finding.ts';

/** Checks the keys, the clock and the name of the issuer of tokens. */
export async function checkIssuer(deployment: Deployment): Promise<void> {
  const { settings, report } = deployment;
  const { AUTH_JWKS_URL: url = '', AUTH_ISSUER: issuer = '' } = settings;
  const { keys } = await read(url);
  // Other keys are for encryption.
  const verifies = (key: { kty?: string; use?: string } | null) =>
    /RSA|EC|OKP/.test(key?.kty ?? '') && (key?.use ?? 'sig') === 'sig';
  if (!Array.isArray(keys) || !keys.some(verifies))
    report('problem', 'issuer_keys', 'AUTH_JWKS_URL has no key for signatures: correct it.');
  // The Date header cuts off half a second on average.
  await checkClock(deployment, 'issuer_clock', async () => (await read(url)).time + 500);
  // Most issuers publish the `iss` of their tokens.
  const configuration = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { issuer: real = issuer } = await read(configuration).catch(() => ({ issuer }));
  if (real !== issuer)
    report('problem', 'issuer_name', `No token is accepted: AUTH_ISSUER must be "${real}".`);
}

/**
 * Reads a JSON object, and the time of its server. A cache sends the time of its copy, and the age of that copy.
 * Redirects are not followed, as in the service.
 */
async function read(url: string) {
  const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(3000) });
  if (answer.status !== 200) throw new Error(`it answers with the status ${answer.status}`);
  const members = Object(await answer.json().catch(() => undefined));
  const { date = '', age = '0' } = Object.fromEntries(answer.headers);
  return { ...members, time: Date.parse(date) + Number(age) * 1000 };
}
