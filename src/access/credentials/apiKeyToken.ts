import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { serviceName } from '#schemas/name.ts';

/**
 * An API key is `<name>_<id>_<secret><checksum>`: a prefix for secret scanners, the id of its record without dashes,
 * 256 random bits, and a CRC-32 of all that, which finds typos without a query.
 */
const prefix = `${serviceName}_`;
const shape = new RegExp(`^(${prefix}[0-9a-f]{32}_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$`);
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function makeToken(id: string): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43);
  const body = `${prefix}${id.replaceAll('-', '')}_${secret}`;
  return body + checksum(body);
}

/** Whether this is meant to be an API key; it may still be mistyped. */
export const looksLikeToken = (text: string) => text.startsWith(prefix);

export function isWellFormed(token: string): boolean {
  const [, body = '', sum] = shape.exec(token) ?? [];
  return sum !== undefined && checksum(body) === sum;
}

/** The id of the record of an API key. */
export const idInToken = (token: string) =>
  token
    .slice(prefix.length, prefix.length + 32)
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

export const hashToken = (token: string) => hash('sha256', token, 'hex');

/** Compares in constant time. */
export const matches = (token: string, hash: Buffer) => timingSafeEqual(Buffer.from(hashToken(token)), hash);

const checksum = (text: string) => base62(BigInt(crc32(text)), 6);

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text;
  return text;
}
