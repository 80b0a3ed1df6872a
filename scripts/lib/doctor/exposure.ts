import { readProviders } from '#src/config/providers.ts';
import type { Deployment } from './finding.ts';

const isLoopback = (host: string) => /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|)$/.test(host);

/** Checks who can reach the service, who can read along, and who can sign webhooks. */
export async function checkExposure({ settings, report }: Deployment): Promise<void> {
  const { NODE_ENV, HOST, AUTH_MODE = 'open', TRUST_PROXY, DATABASE_URL, REDIS_URL } = settings;
  const isProduction = NODE_ENV === 'production';
  const warn = (code: string, text: string) => report('warning', code, text);
  if (AUTH_MODE === 'open' && (isProduction || !isLoopback(HOST)))
    warn('access', 'Anyone who reaches the port may read and write: set AUTH_MODE to required.');
  if (!isProduction && !isLoopback(HOST))
    warn('environment', 'HOST lets other machines in: set NODE_ENV to production.');
  if (/\/0+(\s*,|\s*$)/.test(TRUST_PROXY))
    report('problem', 'proxies', 'TRUST_PROXY lets anyone evade rate limits: list only the balancers.');
  if (isProduction && ['', '0'].includes(TRUST_PROXY))
    warn('proxies', 'Clients behind a balancer count as one: set TRUST_PROXY to its address.');
  if (isProduction && [DATABASE_URL, REDIS_URL].some(isPlain))
    warn('encryption', 'Passwords cross a network in clear text: use ?sslmode=verify-full and rediss://.');
  const providers = [...readProviders(settings.WEBHOOK_SECRETS).providers.values()];
  if (providers.length === 0 && DATABASE_URL !== undefined)
    warn('webhook_secrets', 'Every webhook is refused: set WEBHOOK_SECRETS.');
  if (providers.some(({ secrets }) => secrets.some(secret => secret.length < 16)))
    warn('webhook_secrets', 'A webhook secret can be guessed: use 16 or more random characters.');
}

/** `allow` and `prefer` count as plain: they fall back to clear text, and an attacker in between can force that. */
function isPlain(url = ''): boolean {
  if (url === '' || url.startsWith('rediss:')) return false;
  const { hostname, searchParams } = new URL(url);
  const mode = searchParams.get('sslmode') ?? searchParams.get('ssl') ?? 'disable';
  return ['disable', 'false', 'allow', 'prefer'].includes(mode) && !isLoopback(hostname);
}
