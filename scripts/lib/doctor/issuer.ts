import { checkClock, type Deployment } from './finding.ts';

/** The issuer of tokens: its keys, its clock and its name. */
export async function checkIssuer(deployment: Deployment): Promise<void> {
  const { settings, report } = deployment;
  const { AUTH_JWKS_URL: url = '', AUTH_ISSUER: issuer = '' } = settings;
  const { keys } = await read(url);
  if (!Array.isArray(keys) || !keys.some(key => /RSA|EC|OKP/.test(key?.kty)))
    report('problem', 'issuer_keys', 'AUTH_JWKS_URL has no public key: correct it, or no token is accepted.');
  // The header has whole seconds.
  await checkClock(deployment, 'issuer_clock', async () => (await read(url)).time + 500);
  // Most issuers publish what `iss` their tokens have.
  const configuration = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { issuer: real = issuer } = await read(configuration).catch(() => ({ issuer }));
  if (real !== issuer)
    report('problem', 'issuer_name', `No token is accepted: AUTH_ISSUER must be "${real}".`);
}

/** A JSON object, and what time it is there. A cache sends the time of its copy, and the age of that. */
async function read(url: string) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(3000) });
  const members = Object(await answer.json().catch(() => undefined));
  const { date = '', age = '0' } = Object.fromEntries(answer.headers);
  return { ...members, time: Date.parse(date) + Number(age) * 1000 };
}
