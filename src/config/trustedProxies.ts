import { isIP } from 'node:net';

type Trust = false | string[] | ((address: string, hop: number) => boolean);

/** TRUST_PROXY for Fastify: no proxy, a number of hops, or addresses. Undefined when it is none of these. */
export function trustedProxies(text: string): Trust | undefined {
  if (text === '' || text === '0') return false;
  if (/^\d{1,2}$/.test(text)) return (_address, hop) => hop < Number(text);
  const addresses = text.split(',').map(entry => entry.trim());
  return addresses.every(isAddressRange) ? addresses : undefined;
}

function isAddressRange(entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  if (bits === undefined || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}
