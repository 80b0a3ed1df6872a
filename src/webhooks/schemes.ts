import type { SignatureScheme } from '../../schemas/provider.ts';

export type Headers = Record<string, string | string[] | undefined>;

/** What a sender claims: these signatures, over the prefix followed by the body, made at this time. */
export interface Claim {
  signatures: Buffer[];
  prefix: string;
  time?: number;
  id?: string;
}
export type Unreadable = 'no_header' | 'malformed_header' | 'unknown_scheme';

interface Scheme {
  key(secret: string): Buffer;
  read(headers: Headers, header: string): Claim | Unreadable;
  write(header: string, mac: (prefix: string) => Buffer, time: string, id: string): Record<string, string>;
}

const isTime = /^\d{1,12}$/;
const isHex = /^[0-9a-f]{64}$/i;

/** `t=<seconds>,v1=<hex>`, over the time and the body. */
const timestamped: Scheme = {
  key: secret => Buffer.from(secret),
  read: (headers, header) => {
    const value = headers[header];
    if (typeof value !== 'string') return 'no_header';
    const parts = value.split(',').map(part => part.trim().split('='));
    const valuesOf = (name: string) => parts.filter(([key]) => key === name).map(([, text = '']) => text);
    const [time = '', ...more] = valuesOf('t');
    if (!isTime.test(time) || more.length > 0) return 'malformed_header';
    const signatures = valuesOf('v1').map(hex => Buffer.from(isHex.test(hex) ? hex : '', 'hex'));
    if (signatures.length === 0) return 'unknown_scheme';
    return { signatures, prefix: `${time}.`, time: Number(time) };
  },
  write: (header, mac, time) => ({ [header]: `t=${time},v1=${mac(`${time}.`).toString('hex')}` }),
};

/** `sha256=<hex>`, over the body. */
const sha256: Scheme = {
  key: secret => Buffer.from(secret),
  read: (headers, header) => {
    const value = headers[header];
    if (typeof value !== 'string') return 'no_header';
    const [name, hex = ''] = value.trim().split('=');
    if (name !== 'sha256') return 'unknown_scheme';
    return isHex.test(hex) ? { signatures: [Buffer.from(hex, 'hex')], prefix: '' } : 'malformed_header';
  },
  write: (header, mac) => ({ [header]: `sha256=${mac('').toString('hex')}` }),
};

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
    return { signatures, prefix: `${id}.${time}.`, time: Number(time), id };
  },
  write: (header, mac, time, id) => ({
    'webhook-id': id,
    'webhook-timestamp': time,
    [header]: `v1,${mac(`${id}.${time}.`).toString('base64')}`,
  }),
};

export const schemes: Record<SignatureScheme, Scheme> = { timestamped, sha256, standard };
