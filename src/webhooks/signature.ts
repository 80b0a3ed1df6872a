import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { SignatureScheme } from '#schemas/service/provider.ts';
import { openMemoryStore } from '#src/access/limits/rateLimitStore.ts';
import type { Provider } from '#src/config/providers.ts';
import { isStorableJson } from '#src/core/validation.ts';

export type Headers = Record<string, string | string[] | undefined>;

/** What a sender claims: these signatures, over the prefix followed by the body, made at this time. */
interface Claim {
  signatures: Buffer[];
  prefix: string;
  time?: number;
}

interface Scheme {
  /** Reads the claim, or returns a text: the reason why there is none. */
  read(headers: Headers, header: string): Claim | string;
  write(header: string, mac: (prefix: string) => Buffer, time: string, id: string): Record<string, string>;
}

const isTime = /^\d{1,12}$/;
const isDigest = { hex: /^[0-9a-f]{64}$/i, base64: /^[A-Za-z0-9+/]{43}=$/ };

/** One header with time and signatures, such as `t=<seconds>,v1=<hex>`. They sign the time, a mark and the body. */
const timed = (time: string, signature: string, separator: string, mark: string): Scheme => ({
  read: (headers, header) => {
    const value = headers[header];
    if (typeof value !== 'string') return 'no_header';
    const parts = value.split(separator).map(part => part.trim().split('='));
    const values = (name: string) => parts.filter(([key]) => key === name).map(([, text = '']) => text);
    const [seconds = '', ...more] = values(time);
    if (!isTime.test(seconds) || more.length > 0) return 'malformed_header';
    const signatures = values(signature).map(hex => Buffer.from(isDigest.hex.test(hex) ? hex : '', 'hex'));
    if (signatures.length === 0) return 'unknown_scheme';
    return { signatures, prefix: seconds + mark, time: Number(seconds) };
  },
  write: (header, mac, seconds) => ({
    [header]: `${time}=${seconds}${separator}${signature}=${mac(seconds + mark).toString('hex')}`,
  }),
});

/** One signature, only over the body. */
const untimed = (encoding: 'hex' | 'base64', before = ''): Scheme => ({
  read: (headers, header) => {
    const value = headers[header];
    if (typeof value !== 'string') return 'no_header';
    const text = value.trim();
    if (!text.startsWith(before)) return 'unknown_scheme';
    const digest = text.slice(before.length);
    if (!isDigest[encoding].test(digest)) return 'malformed_header';
    return { signatures: [Buffer.from(digest, encoding)], prefix: '' };
  },
  write: (header, mac) => ({ [header]: before + mac('').toString(encoding) }),
});

/** Standard Webhooks: `v1,<base64>`, over the id, the time and the body. */
const standard: Scheme = {
  read: (headers, header) => {
    const [value, time, id] = [headers[header], headers['webhook-timestamp'], headers['webhook-id']];
    if (typeof value !== 'string' || typeof time !== 'string' || typeof id !== 'string') return 'no_header';
    if (!isTime.test(time)) return 'malformed_header';
    const ours = value.split(' ').filter(part => part.startsWith('v1,'));
    if (ours.length === 0) return 'unknown_scheme';
    const signatures = ours.map(part => Buffer.from(part.slice(3), 'base64'));
    return { signatures, prefix: `${id}.${time}.`, time: Number(time) };
  },
  write: (header, mac, time, id) => ({
    'webhook-id': id,
    'webhook-timestamp': time,
    [header]: `v1,${mac(`${id}.${time}.`).toString('base64')}`,
  }),
};

/** How a body can be signed, always with HMAC-SHA256. */
const schemes: Record<SignatureScheme, Scheme> = {
  timestamped: timed('t', 'v1', ',', '.'),
  paddle: timed('ts', 'h1', ';', ':'),
  sha256: untimed('hex', 'sha256='),
  hex: untimed('hex'),
  base64: untimed('base64'),
  standard,
};

/** Seconds a signature may be behind or ahead of our clock. */
const tolerance = 300;

/**
 * Verifies that a body comes from the provider, unchanged and recent. Returns the index of the secret, which shows
 * operators when a rotation is complete, or why the body is refused. Nothing may parse the body first.
 */
export function verify(provider: Provider, headers: Headers, body: Buffer, now: Date) {
  const claim = schemes[provider.scheme].read(headers, provider.header);
  if (typeof claim === 'string') return { reason: claim };
  const secret = matchingSecret(provider, claim, body);
  if (secret < 0) return { reason: explainMismatch(provider, claim, body) };
  const seconds = claim.time === undefined ? 0 : Math.floor(now.getTime() / 1000) - claim.time;
  if (seconds > tolerance) return { reason: 'stale', seconds };
  if (-seconds > tolerance) return { reason: 'future', seconds: -seconds };
  return { secret };
}

/** The headers with which the provider would send this body. */
export function sign(provider: Provider, body: Buffer, { now, id }: { now: Date; id: string }) {
  const time = String(Math.floor(now.getTime() / 1000));
  const mac = (prefix: string) => macOf(provider.keys[0] as KeyObject, prefix, body);
  return schemes[provider.scheme].write(provider.header, mac, time, id);
}

/** The index of the first secret that made one of the signatures, or -1. */
function matchingSecret(provider: Provider, { signatures, prefix }: Claim, body: Buffer | string): number {
  return provider.keys.findIndex(key => {
    const expected = macOf(key, prefix, body);
    return signatures.some(
      signature => signature.length === expected.length && timingSafeEqual(signature, expected),
    );
  });
}

const macOf = (key: KeyObject, prefix: string, body: Buffer | string) =>
  createHmac('sha256', key).update(prefix).update(body).digest();

/** Explaining larger, deeper or more bodies would let a forger cause load: indented, 56 KB of brackets are 300 MB. */
const [maxExplained, maxDepth, mostEachSecond] = [8192, 32, 10];
const explained = openMemoryStore(1000);

/** Tries other spellings of the body: one of them matches if, as is usual, a proxy has parsed and rewritten it. */
function explainMismatch(provider: Provider, claim: Claim, body: Buffer): 'changed_body' | 'wrong_secret' {
  if (body.length > maxExplained || explained.add('', 1).used > mostEachSecond) return 'wrong_secret';
  const text = body.toString('utf8');
  const spellings = [text.trim(), `${text.trim()}\n`];
  try {
    const value: unknown = JSON.parse(text);
    if (isStorableJson(value, maxDepth))
      spellings.push(...[0, 2, 4].map(indent => JSON.stringify(value, null, indent)));
  } catch {
    // A body that is not JSON has no other spellings.
  }
  const matches = spellings.some(spelling => matchingSecret(provider, claim, spelling) >= 0);
  return matches ? 'changed_body' : 'wrong_secret';
}
