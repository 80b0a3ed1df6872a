/**
 * The name under which an address is counted. An IPv6 network is a /64 at least, and whoever has one has all
 * its addresses: counted singly they would be without limit. A client that resets its connection before it is
 * accepted has no address any more; all of these share one name, so that leaving early is no way around the limit.
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  if (!address.includes(':')) return address;
  const [plain = ''] = address.toLowerCase().split('%');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain);
  if (mapped?.[1]) return mapped[1];
  const [head = '', tail] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? [] : Array(Math.max(0, 8 - left.length - right.length)).fill('0');
  const groups = [...left, ...zeros, ...right].slice(0, 4).map(group => group.replace(/^0+(?=.)/, ''));
  return `${groups.join(':')}::/64`;
}

/**
 * The addresses of an `X-Forwarded-For`, without the ports that some proxies write (`192.0.2.1:443`, `[2001:db8::1]:443`).
 * With its port, each connection of a client would be another caller. IPv6 without brackets is left whole: its last
 * group looks like a port.
 */
export const withoutPorts = (forwarded: string): string =>
  forwarded
    .split(',')
    .map(entry => entry.trim().replace(/^(?:([\d.]+):\d+|\[([^\]]+)\](?::\d+)?)$/, '$1$2'))
    .join(', ');
