import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { SignatureScheme } from '../../schemas/provider.ts';
import type { Provider } from '../config/providers.ts';

export type Headers = Record<string, string | string[] | undefined>;

/** Why an event is not believed. For the log and the counters only: the sender is told nothing. */
export type Refusal =
  | 'no_header'
  | 'malformed_header'
  | 'unknown_scheme'
  | 'wrong_secret'
  | 'changed_body'
  | 'stale'
  | 'future';

export type Verdict =
  /** `secret` says which one matched, so that an operator sees when a rotation is finished. */
  | { genuine: true; secret: number; id: string | undefined }
  | { genuine: false; reason: Refusal; seconds?: number };

/** What a sender claims: these signatures, over this text followed by the body, made at this time. */
interface Claim {
  signatures: Buffer[];
  prefix: string;
  time?: number;
  id?: string;
}

/** Whether a body comes from the provider, unchanged and in time. Nothing in it is looked at before. */
export function verify(
  provider: Provider,
  headers: Headers,
  body: Buffer,
  { now, tolerance }: { now: Date; tolerance: number },
): Verdict {
  const claim = schemes[provider.scheme].read(headers, provider.header);
  if (typeof claim === 'string') return { genuine: false, reason: claim };
  const secret = matching(provider, claim, body);
  if (secret < 0) return { genuine: false, reason: changed(provider, claim, body) };
  const seconds = claim.time === undefined ? 0 : Math.floor(now.getTime() / 1000) - claim.time;
  if (seconds > tolerance) return { genuine: false, reason: 'stale', seconds };
  if (-seconds > tolerance) return { genuine: false, reason: 'future', seconds: -seconds };
  return { genuine: true, secret, id: claim.id };
}

/** The headers with which the provider would send this body. */
export function sign(provider: Provider, body: Buffer, { now, id }: { now: Date; id: string }): Headers {
  const time = String(Math.floor(now.getTime() / 1000));
  const [key = createSecretKey('', 'utf8')] = keysOf(provider);
  const mac = (prefix: string) => macOf(key, prefix, body);
  return schemes[provider.scheme].write(provider.header, mac, time, id);
}

/** Made once for each secret: out of its bytes, Node makes a key for each event, which takes 13 of 16 us. */
const keys = new WeakMap<Provider, KeyObject[]>();

function keysOf(provider: Provider): KeyObject[] {
  const { key } = schemes[provider.scheme];
  const known = keys.get(provider) ?? provider.secrets.map(secret => createSecretKey(key(secret)));
  keys.set(provider, known);
  return known;
}

const macOf = (key: KeyObject, prefix: string, body: Buffer | string) =>
  createHmac('sha256', key).update(prefix).update(body).digest();

/** The index of the first secret with which any of the signatures was made, or -1. */
function matching(provider: Provider, { signatures, prefix }: Claim, body: Buffer | string): number {
  return keysOf(provider).findIndex(key => {
    const expected = macOf(key, prefix, body);
    return signatures.some(given => given.length === expected.length && timingSafeEqual(given, expected));
  });
}

/** Above this, looking for the reason would be work that a stranger can order. */
const largestExamined = 65_536;

/** The usual accident is a middleman that parsed the body and wrote it again: then the signature fits another spelling. */
function changed(provider: Provider, claim: Claim, body: Buffer): 'changed_body' | 'wrong_secret' {
  if (body.length > largestExamined) return 'wrong_secret';
  const text = body.toString('utf8');
  const spellings = [text.trim(), `${text.trim()}\n`];
  try {
    const value: unknown = JSON.parse(text);
    spellings.push(...[0, 2, 4].map(indent => JSON.stringify(value, null, indent)));
  } catch {
    // Not JSON: nothing more to try.
  }
  const fits = spellings.some(spelling => matching(provider, claim, spelling) >= 0);
  return fits ? 'changed_body' : 'wrong_secret';
}

interface Scheme {
  key(secret: string): Buffer;
  read(headers: Headers, header: string): Claim | Refusal;
  write(header: string, mac: (prefix: string) => Buffer, time: string, id: string): Headers;
}

const asText = (secret: string) => Buffer.from(secret);
const isTime = /^\d{1,12}$/;
const isHex = /^[0-9a-f]{64}$/i;

const schemes: Record<SignatureScheme, Scheme> = {
  timestamped: {
    key: asText,
    read: (headers, header) => {
      const value = headers[header];
      if (typeof value !== 'string') return 'no_header';
      const parts = value.split(',').map(part => part.trim().split('='));
      const of = (name: string) => parts.filter(([key]) => key === name).map(([, text = '']) => text);
      const [time = '', ...more] = of('t');
      if (!isTime.test(time) || more.length > 0) return 'malformed_header';
      if (of('v1').length === 0) return 'unknown_scheme';
      const signatures = of('v1').map(hex => Buffer.from(isHex.test(hex) ? hex : '', 'hex'));
      return { signatures, prefix: `${time}.`, time: Number(time) };
    },
    write: (header, mac, time) => ({ [header]: `t=${time},v1=${mac(`${time}.`).toString('hex')}` }),
  },
  sha256: {
    key: asText,
    read: (headers, header) => {
      const value = headers[header];
      if (typeof value !== 'string') return 'no_header';
      const [name, hex = ''] = value.trim().split('=');
      if (name !== 'sha256') return 'unknown_scheme';
      return isHex.test(hex) ? { signatures: [Buffer.from(hex, 'hex')], prefix: '' } : 'malformed_header';
    },
    write: (header, mac) => ({ [header]: `sha256=${mac('').toString('hex')}` }),
  },
  standard: {
    key: secret => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'),
    read: (headers, header) => {
      const [value, time, id] = [headers[header], headers['webhook-timestamp'], headers['webhook-id']];
      if (typeof value !== 'string' || typeof time !== 'string' || typeof id !== 'string') return 'no_header';
      if (!isTime.test(time)) return 'malformed_header';
      const own = value.split(' ').filter(part => part.startsWith('v1,'));
      if (own.length === 0) return 'unknown_scheme';
      const signatures = own.map(part => Buffer.from(part.slice(3), 'base64'));
      return { signatures, prefix: `${id}.${time}.`, time: Number(time), id };
    },
    write: (header, mac, time, id) => ({
      'webhook-id': id,
      'webhook-timestamp': time,
      [header]: `v1,${mac(`${id}.${time}.`).toString('base64')}`,
    }),
  },
};
