import { checkClock, type Deployment } from './finding.ts';

/** The issuer of tokens: its keys, its clock and its name. */
export async function checkIssuer(deployment: Deployment): Promise<void> {
  const { settings, report } = deployment;
  const { AUTH_JWKS_URL: url = '', AUTH_ISSUER: issuer = '' } = settings;
  const { keys } = await read(url);
  // The others encrypt.
  const verifies = (key: { kty?: string; use?: string } | null) =>
    /RSA|EC|OKP/.test(key?.kty ?? '') && (key?.use ?? 'sig') === 'sig';
  if (!Array.isArray(keys) || !keys.some(verifies))
    report('problem', 'issuer_keys', 'AUTH_JWKS_URL has no key for signatures: correct it.');
  // The header has whole seconds.
  await checkClock(deployment, 'issuer_clock', async () => (await read(url)).time + 500);
  // Most issuers publish what `iss` their tokens have.
  const configuration = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { issuer: real = issuer } = await read(configuration).catch(() => ({ issuer }));
  if (real !== issuer)
    report('problem', 'issuer_name', `No token is accepted: AUTH_ISSUER must be "${real}".`);
}

/**
 * A JSON object, and what time it is there. A cache sends the time of its copy, and the age of that. As the service does,
 * it follows no redirect.
 */
async function read(url: string) {
  const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(3000) });
  if (answer.status !== 200) throw new Error(`it answers with the status ${answer.status}`);
  const members = Object(await answer.json().catch(() => undefined));
  const { date = '', age = '0' } = Object.fromEntries(answer.headers);
  return { ...members, time: Date.parse(date) + Number(age) * 1000 };
}
