import type { SignatureScheme } from '../../schemas/provider.ts';

export type Headers = Record<string, string | string[] | undefined>;

/** What a sender claims: these signatures, over the prefix followed by the body, made at this time. */
export interface Claim {
  signatures: Buffer[];
  prefix: string;
  time?: number;
}
export type Unreadable = 'no_header' | 'malformed_header' | 'unknown_scheme';

interface Scheme {
  key(secret: string): Buffer;
  read(headers: Headers, header: string): Claim | Unreadable;
  write(header: string, mac: (prefix: string) => Buffer, time: string, id: string): Record<string, string>;
}

const asText = (secret: string) => Buffer.from(secret);
const isTime = /^\d{1,12}$/;
const isDigest = { hex: /^[0-9a-f]{64}$/i, base64: /^[A-Za-z0-9+/]{43}=$/ };

/** Time and signatures in one header, such as `t=<seconds>,v1=<hex>`, over the time, a mark and the body. */
const timed = (time: string, signature: string, separator: string, mark: string): Scheme => ({
  key: asText,
  read: (headers, header) => {
    const value = headers[header];
    if (typeof value !== 'string') return 'no_header';
    const parts = value.split(separator).map(part => part.trim().split('='));
    const valuesOf = (name: string) => parts.filter(([key]) => key === name).map(([, text = '']) => text);
    const [seconds = '', ...more] = valuesOf(time);
    if (!isTime.test(seconds) || more.length > 0) return 'malformed_header';
    const signatures = valuesOf(signature).map(hex => Buffer.from(isDigest.hex.test(hex) ? hex : '', 'hex'));
    if (signatures.length === 0) return 'unknown_scheme';
    return { signatures, prefix: seconds + mark, time: Number(seconds) };
  },
  write: (header, mac, seconds) => ({
    [header]: `${time}=${seconds}${separator}${signature}=${mac(seconds + mark).toString('hex')}`,
  }),
});

/** One signature over the body alone. */
const untimed = (encoding: 'hex' | 'base64', before = ''): Scheme => ({
  key: asText,
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
  key: secret => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'),
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
export const schemes: Record<SignatureScheme, Scheme> = {
  timestamped: timed('t', 'v1', ',', '.'),
  paddle: timed('ts', 'h1', ';', ':'),
  sha256: untimed('hex', 'sha256='),
  hex: untimed('hex'),
  base64: untimed('base64'),
  standard,
};
