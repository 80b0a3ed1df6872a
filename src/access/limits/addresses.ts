/**
 * The name an address is counted under. A client has all IPv6 addresses of its /64. A connection that was reset
 * before it was accepted has no address; these count together, so that a reset does not escape the limit.
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
 * `X-Forwarded-For` without the ports that some proxies add (`192.0.2.1:443`, `[2001:db8::1]:443`). With ports, each
 * connection would count as another client. IPv6 without brackets stays whole: its last group looks like a port.
 */
export const withoutPorts = (forwarded: string): string =>
  forwarded
    .split(',')
    .map(entry => entry.trim().replace(/^(?:([\d.]+):\d+|\[([^\]]+)\](?::\d+)?)$/, '$1$2'))
    .join(', ');
